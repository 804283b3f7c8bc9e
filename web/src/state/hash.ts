// SPDX-License-Identifier: MIT
// Converts between the state and the part of a URL after "#". Values of the initial state are omitted, so that links stay short.
import { codecs, initial, type State } from './state.js';

const keys = Object.keys(codecs) as (keyof State)[];

function entry<K extends keyof State>(key: K, state: Readonly<State>, base: Readonly<State>): [string, string] | undefined {
  const value = codecs[key].write(state[key]);
  return value === codecs[key].write(base[key]) ? undefined : [key, value];
}

export function toHash(state: Readonly<State>, base: Readonly<State> = initial): string {
  const entries = keys.map((key) => entry(key, state, base)).filter((each) => each !== undefined);
  // Commas and colons are allowed in a fragment and easier to read than %2C.
  return new URLSearchParams(entries).toString().replaceAll('%2C', ',').replaceAll('%3A', ':');
}

/** The parts of the state that `hash` sets to valid values. */
export function fromHash(hash: string): Partial<State> {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const read = <K extends keyof State>(key: K): [K, State[K]] | undefined => {
    const text = given.get(key);
    const value = text === null ? undefined : codecs[key].read(text);
    return value === undefined ? undefined : [key, value];
  };
  return Object.fromEntries(keys.map(read).filter((each) => each !== undefined));
}
