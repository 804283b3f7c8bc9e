// SPDX-License-Identifier: MIT
// Checks the types and names of arguments. The module checks their values.
import { resources, usage, type ProbustError } from './errors.js';
import type { CallOptions, EstimateOptions, ModelOptions, Numbers } from './types.js';

/** Every option name of type T, each with the value `true`: the compiler reports a missing name. */
export type Names<T> = Record<keyof T, true>;

export const callNames: Names<CallOptions> = { signal: true, onProgress: true };

export const modelNames: Names<ModelOptions> = {
  ...{
    mean: true,
    std: true,
    layout: true,
    shape: true,
    inputShape: true,
    output: true,
    threshold: true,
    outputs: true,
    memory: true,
    signal: true,
  },
  ...{ classNames: true, tolerance: true },
};

const shown = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : value === null ? 'null' : typeof value);

/** Checks the options of the call `where`. Unknown names are errors, because a misspelt option would otherwise be ignored. */
export function optionsOf<T extends object>(where: string, given: T, names: Readonly<Record<string, true>>): T {
  if (typeof given !== 'object' || given === null || Array.isArray(given) || ArrayBuffer.isView(given)) {
    throw usage(`the options of ${where} are ${shown(given)}`, 'give an object, such as { seed: 1 }');
  }
  for (const name of Object.keys(given)) {
    if (!Object.keys(names).includes(name))
      throw usage(`${where} has no option '${name}'`, `use ${Object.keys(names).join(', ')}`);
  }
  const { signal, onProgress } = given as CallOptions;
  if (signal != null && typeof signal.addEventListener !== 'function') {
    throw usage(`signal is ${shown(signal)}`, 'give the signal of an AbortController');
  }
  if (onProgress != null && typeof onProgress !== 'function') {
    throw usage(`onProgress is ${shown(onProgress)}`, 'give a function');
  }
  return given;
}

/**
 * Points as a Float32Array that fills its whole buffer: other arrays are converted, and views of larger buffers are copied. Bytes
 * are scaled to 0..1, as in image files. If the model is a function, bytes are rejected, because it may expect values from 0 to
 * 255.
 */
export function floats(name: string, given: Numbers, ofFunction = false): Float32Array {
  if (given instanceof Float32Array && given.byteLength === given.buffer.byteLength) return given;
  const plain = Array.isArray(given);
  if (!plain && (!ArrayBuffer.isView(given) || given instanceof DataView)) {
    throw usage(`${name} is ${shown(given)}`, 'give an array or a typed array of numbers');
  }
  const odd = plain ? given.findIndex((value) => typeof value !== 'number') : -1;
  if (odd >= 0) throw usage(`${name}[${odd}] is ${shown(given[odd])}`, 'give numbers, one point after another');
  const bytes = given instanceof Uint8Array || given instanceof Uint8ClampedArray;
  if (bytes && ofFunction) {
    throw usage(
      `${name} contains bytes, but the model is a function`,
      'give Float32Array.from(x) to pass 0 to 255, or divide by 255',
    );
  }
  try {
    return bytes ? Float32Array.from(given, (value) => value / 255) : Float32Array.from(given);
  } catch (error) {
    throw unfit(name, 'give an array or a typed array of numbers', error);
  }
}

/** The error for a value that cannot be copied because it is too large, detached, or contains values other than numbers. */
export function unfit(name: string, hint: string, cause: unknown): ProbustError {
  if (!(cause instanceof RangeError)) return usage(`${name} cannot be copied (${String(cause)})`, hint, cause);
  return resources(`${name} cannot be copied, because there is not enough memory`, undefined, cause);
}

/** A deep copy that shares no buffer with the original; each array gets its own buffer. */
export function copied<T>(value: T): T {
  try {
    return copyOf(value) as T;
  } catch (error) {
    throw unfit('arguments', 'give plain values', error);
  }
}

/**
 * A copy of plain objects and arrays, which the caller may change later. Other values are passed on, and the module rejects them.
 */
export function snapshot<T>(value: T): T {
  try {
    return kept(value) as T;
  } catch {
    return value; // the module reports an error, because it cannot read the value either
  }
}

function kept(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(kept);
  if (ArrayBuffer.isView(value)) return value instanceof DataView ? value : (value as Float32Array).slice();
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, kept(each)]));
}

function copyOf(value: unknown): unknown {
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return (value as Float32Array).slice();
  if (Array.isArray(value)) return value.map(copyOf);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copyOf(each)]));
}

/** A copy as a plain array; undefined if nothing was given. A single number is an error. */
export function list(name: string, given: Numbers | null | undefined): number[] | undefined {
  if (given == null) return undefined;
  if (Array.isArray(given) || (ArrayBuffer.isView(given) && !(given instanceof DataView))) return Array.from(given);
  throw usage(`${name} is ${shown(given)}`, 'give an array with a number for each point');
}

export const texts = (given: string | readonly string[]): readonly string[] => (typeof given === 'string' ? [given] : given);

/** Splits options into arguments of the request and `watch` (signal and progress). Functions are not passed to the module. */
export function divided<T extends CallOptions & Pick<Partial<EstimateOptions>, 'check' | 'onWarning'>>(options: T) {
  const { signal, onProgress, check: _, onWarning: __, ...args } = options;
  return { args, watch: { signal, onProgress } };
}

const mostElements = 1 << 20; // of the inputs of a batch; activations need many times as much memory
const mostInputs = 64;

/**
 * The number of inputs per run of another engine: `batch` if given; otherwise up to 64, fewer if an input has many `elements`.
 */
export function batchOf(batch: number | undefined, elements: number): number {
  if (batch === undefined) return Math.max(1, Math.min(mostInputs, Math.floor(mostElements / elements)));
  if (Number.isInteger(batch) && batch > 0) return batch;
  throw usage(`batch is ${batch}`, 'give a whole number of at least 1');
}

const busy = new Set<object>();

/** Keeps `owner` alive during the work: without other references, it would be collected and its memory released. */
export async function holding<T>(owner: object, work: () => Promise<T>): Promise<T> {
  const hold = { owner };
  busy.add(hold);
  try {
    return await work();
  } finally {
    busy.delete(hold);
  }
}
