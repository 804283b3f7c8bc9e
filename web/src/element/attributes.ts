// SPDX-License-Identifier: MIT
// The attributes of <probust-explorer>, which are also its properties, and the parts of the state that they set.
import type { PropertyDeclarations, PropertyValues } from 'lit';
import { codecs, type State } from '../state/state.js';

const stateKeys = ['lab', 'theme', 'x', 'sigma', 'model', 'data', 'estimators', 'panels'] as const;

export const attributesOf: PropertyDeclarations = {
  ...Object.fromEntries(stateKeys.map((key) => [key, { attribute: key }])),
  /** Only the lab, without tabs. */
  embed: { type: Boolean },
  /** Keeps the state in the address of the page. */
  hash: { type: Boolean },
};

const parsed = (key: (typeof stateKeys)[number], value: unknown): unknown =>
  typeof value === 'string' ? codecs[key].read(value) : value;

/** The state that changed attributes ask for. */
export function stateOf(element: object, changed: PropertyValues): Partial<State> {
  const values = element as Record<string, unknown>;
  const given = stateKeys.filter((key) => changed.has(key)).map((key) => [key, parsed(key, values[key])] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}
