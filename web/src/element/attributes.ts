// SPDX-License-Identifier: MIT
// The attributes of <probust-explorer>, which are also its properties, and the parts of the state that they set.
import type { PropertyDeclarations, PropertyValues } from 'lit';
import { codecs, type State } from '../state/state.js';

const stateKeys = ['lab', 'theme', 'more', 'x', 'noise', 'sigma', 'model', 'data', 'estimators', 'panels'] as const;

export const attributesOf: PropertyDeclarations = {
  ...Object.fromEntries(stateKeys.map((key) => [key, { attribute: key }])),
  /** Shows only the lab, without tabs. */
  embed: { type: Boolean },
  /** Shows panels without their descriptions and sources. */
  brief: { type: Boolean },
  /** Hides the true p next to the estimators while the user guesses it. */
  secret: { type: Boolean },
  /** Keeps the state in the page's URL. */
  hash: { type: Boolean },
};

type Renamed = Partial<Record<(typeof stateKeys)[number], keyof State>>;

/** For each value of `lab`, the attributes whose names differ from the parts of the state that they set, with those parts. */
const ofLab: Record<string, Renamed> = {
  image: { sigma: 'imageSigma', model: 'imageModel', estimators: 'imageEstimators' },
  dataset: { sigma: 'dataSigma' },
  table: { x: 'tableX', sigma: 'tableSigma', model: 'tableModel', data: 'table' },
};

/** Texts that are not valid are left unparsed, so that the explorer can report them. */
const parsed = (key: keyof State, value: unknown): unknown =>
  typeof value === 'string' ? (codecs[key].read(value) ?? value) : value;

/** The parts of the state that the changed attributes set. */
export function stateOf(element: object, changed: PropertyValues): object {
  const values = element as Record<string, unknown>;
  const given = stateKeys
    .filter((name) => changed.has(name))
    .map((name) => {
      const key = ofLab[String(values.lab)]?.[name] ?? name;
      return [key, parsed(key, values[name])] as const;
    });
  return Object.fromEntries(given.filter(([, value]) => value != null));
}
