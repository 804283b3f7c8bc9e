// SPDX-License-Identifier: MIT
// Converts the attributes and properties of components to values.
import { usage } from '../errors.js';
import type { NoiseModel, Perturbation } from '../noise-types.js';

/** Numbers separated by commas or spaces. */
export function numbers(which: string, text: string): number[] {
  const values = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(Number);
  if (values.length > 0 && values.every(Number.isFinite)) return values;
  throw usage(`${which} is "${text}"`, 'give numbers, such as 0.2,0.4');
}

const mostScales = 1000;

/** Noise scales, as in the command's --sigma: "0.1", "0.1,0.2" or "0.05..0.5:8" (eight scales at equal ratios). */
export function scales(text: string): number[] {
  const range = /^([\d.e+-]+?)\.\.([\d.e+-]+):(\d+)$/i.exec(text.trim());
  if (!range) return numbers('sigma', text);
  const [low, high, count] = range.slice(1).map(Number) as [number, number, number];
  if (!(low > 0 && high > low && count >= 2 && count <= mostScales)) {
    throw usage(`sigma is "${text}"`, `give LOW..HIGH:COUNT with a count of 2 to ${mostScales}, such as 0.05..0.5:8`);
  }
  return Array.from({ length: count }, (_, i) => Number((low * (high / low) ** (i / (count - 1))).toPrecision(6)));
}

/** The noise models: a kind of noise at every scale, or the given noise model. */
export function noises(noise: NoiseModel, sigma: string | number | readonly number[] | null | undefined): NoiseModel[] {
  if (typeof (noise as Perturbation | null)?.samples === 'function' && (sigma == null || sigma === '')) return [noise];
  if (typeof noise !== 'string') throw usage('noise is not a string', 'give a string, such as gaussian');
  if (sigma == null || sigma === '') {
    if (/:/.test(noise)) return [noise];
    throw usage('sigma is missing', 'give the noise scale, such as sigma="0.1"');
  }
  const given =
    typeof sigma === 'string' ? scales(sigma) : typeof sigma === 'number' ? [sigma] : [...listOf('sigma', sigma, Float64Array)];
  return given.map((scale) => `${noise.replace(/:.*/, '')}:${scale}`);
}

/** Words separated by commas. */
export function words(which: string, given: string | readonly string[]): string[] {
  if (typeof given === 'string') return given.split(/\s*,\s*/).filter(Boolean);
  if (!Array.isArray(given)) throw usage(`${which} is not a string or a list`, 'give strings');
  return given.map(String);
}

/** Converts a list of at least one number to a typed array. */
export function listOf(which: string, given: unknown): Float32Array;
export function listOf(which: string, given: unknown, kind: typeof Float64Array): Float64Array;
export function listOf(which: string, given: unknown, kind: typeof Float32Array | typeof Float64Array = Float32Array) {
  if (given instanceof kind && given.length > 0) return given;
  if (!isList(given) || given.length === 0) throw usage(`${which} is not a list of numbers`, 'give at least one number');
  return kind.from(given as ArrayLike<number>);
}

/** Copies lists and plain objects, because the proxies of frameworks cannot be sent to workers. */
export function plain<T>(value: T): T {
  if (Array.isArray(value)) return value.map(plain) as T;
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)])) as T;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
const isList = (value: unknown): value is ArrayLike<unknown> =>
  Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));

/** Whether two lists or plain objects have equal content; other values must be identical. */
export function equal(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (isList(a) && isList(b)) {
    if (a.length !== b.length || a.constructor !== b.constructor) return false;
    for (let i = 0; i < a.length; ++i) if (!equal(a[i], b[i])) return false;
    return true;
  }
  if (!isRecord(a) || !isRecord(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => name in b && equal(a[name], b[name]));
}
