// SPDX-License-Identifier: MIT
// The module comes in parts (split/split.mjs). The first runs alone and has what most first answers take; the others add functions
// that it lacks. Each can be added without the others. A call of a missing function tells which part it is in; then the request is
// repeated with that part (engine.ts). The table below only saves that attempt.
import { internal } from './errors.js';
import type { Request } from './protocol.js';

/** The names of the parts. Later ones are in the files probust-NAME.wasm. */
export const partNames = ['first', 'images', 'more', 'rest'] as const;
export type PartName = (typeof partNames)[number];

/** Compiled parts. A module that is not split has only a first part. */
export type Modules = ReadonlyMap<PartName, WebAssembly.Module>;

/** A module in parts. */
export interface Parts {
  /** Those at hand, at least the first. */
  readonly modules: Modules;
  load(part: PartName): Promise<WebAssembly.Module>;
}

/** Where a module imports the functions that are in another part. */
export const placeholders = (part: PartName): string => `p${partNames.indexOf(part)}`;
/** Where later parts import from the first. */
export const firstNamespace = 'f';

export const isWhole = (module: WebAssembly.Module): boolean =>
  !WebAssembly.Module.imports(module).some((each) => partNames.some((part) => each.module === placeholders(part)));

/** A module that is not split. */
export const whole = (module: WebAssembly.Module): Parts => ({
  modules: new Map([['first', module]]),
  load: () => Promise.reject(internal('the WebAssembly module is whole, and lacks a function')),
});

/** The address of a part, if the first one is at `wasmUrl`. */
export const nextTo = (wasmUrl: string | URL, part: PartName): string =>
  String(wasmUrl).replace(/[^/]*$/, `probust-${part}.wasm`);

/** Estimators that need another part, without their numbers: "probit:24:pooled" is "probit:pooled". */
export const estimatorsIn = {
  more: ['auto', 'taylor_mvs', 'mmse_mvs', 'probit:pooled', 'regression', 'regression:adf', 'regression:pooled', 'adf'],
  rest: ['mc:stratified', 'auto:independent', 'mmse:centered', 'mmse:loo', 'probit:learned', 'probit:shared', 'subset'],
} as const;

/** Operations, requests and estimators that are not in the first part alone. */
const placeOf: Record<string, PartName> = {
  ...{ sweep: 'more', nearestBoundary: 'more', mvn: 'more', slice: 'rest', data: 'rest', train: 'rest' },
  ...Object.fromEntries(Object.entries(estimatorsIn).flatMap(([part, names]) => names.map((name) => [name, part]))),
};

/** The parts that a request is known to need, in addition to the first. */
export function partsFor(request: Request): PartName[] {
  const words: string[] = [request.kind];
  if (request.kind === 'call') {
    const { estimators, estimator } = request.args as { estimators?: unknown; estimator?: unknown };
    const asked: unknown[] = Array.isArray(estimators) ? estimators : [estimator];
    words.push(request.operation, ...asked.map((text) => String(text).replace(/:[^a-z][^:]*/g, '')));
  }
  return words.flatMap((word) => placeOf[word] ?? []);
}
