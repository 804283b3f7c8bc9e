// SPDX-License-Identifier: MIT
// What callers give, checked before it goes anywhere: its kinds and its names. What values mean is for the module to check.
import { ProbustError } from './errors.js';
import type { CallOptions, Numbers } from './types.js';

/** Every name that options of type T may have, each with `true`: the compiler sees to it that none is forgotten. */
export type Names<T> = Record<keyof T, true>;

export const callNames: Names<CallOptions> = { signal: true, onProgress: true };

export function usage(message: string, hint?: string, cause?: unknown): ProbustError {
  return new ProbustError({ code: 'usage', message: hint ? `${message}; ${hint}` : message, hint }, { cause });
}

const shown = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : value === null ? 'null' : typeof value);

/** The options of `where`. A misspelt name is an error: what it stands for would be ignored otherwise. */
export function optionsOf<T extends CallOptions | object>(where: string, given: T, names: Names<T>): T {
  if (typeof given !== 'object' || given === null || Array.isArray(given) || ArrayBuffer.isView(given)) {
    throw usage(`${where}: its options are ${shown(given)}`, 'give an object, as { seed: 1 }');
  }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(names, name))
      throw usage(`${where}: '${name}' is no option`, `there are ${Object.keys(names).join(', ')}`);
  }
  const { signal, onProgress } = given as CallOptions;
  if (signal != null && typeof signal.addEventListener !== 'function') {
    throw usage(`signal: is ${shown(signal)}`, 'give the signal of an AbortController');
  }
  if (onProgress != null && typeof onProgress !== 'function') {
    throw usage(`onProgress: is ${shown(onProgress)}`, 'give a function');
  }
  return given;
}

/** Numbers as the module takes points: plain arrays cost a conversion. */
export function floats(name: string, given: Numbers): Float32Array {
  if (given instanceof Float32Array) return given;
  const plain = Array.isArray(given);
  if (!plain && (!ArrayBuffer.isView(given) || given instanceof DataView)) {
    throw usage(`${name}: is ${shown(given)}`, 'give an array or a typed array of numbers');
  }
  const odd = plain ? given.findIndex((value) => typeof value !== 'number') : -1;
  if (odd >= 0) throw usage(`${name}: is ${shown(given[odd])} at ${odd}`, 'give numbers, one point after another');
  try {
    return Float32Array.from(given);
  } catch (error) {
    throw usage(`${name}: holds no numbers`, 'give an array or a typed array of numbers', error);
  }
}

/** Whole numbers, if any; a number alone stands for a list of one nowhere. */
export function list(name: string, given: Numbers | null | undefined): number[] | undefined {
  if (given == null) return undefined;
  if (Array.isArray(given) || (ArrayBuffer.isView(given) && !(given instanceof DataView))) return Array.from(given);
  throw usage(`${name}: is ${shown(given)}`, 'give an array, a number for each point');
}

export const texts = (given: string | readonly string[]): readonly string[] => (typeof given === 'string' ? [given] : given);

/** The options that go with the request, and those that watch it. */
export function divided<T extends CallOptions>(options: T) {
  const { signal, onProgress, ...args } = options;
  return { args, watch: { signal, onProgress } };
}

const busy = new Set<object>();

/** Keeps `owner` from being forgotten while it works: nobody else may hold it, and what is forgotten is released. */
export async function holding<T>(owner: object, work: () => Promise<T>): Promise<T> {
  const hold = { owner };
  busy.add(hold);
  try {
    return await work();
  } finally {
    busy.delete(hold);
  }
}
