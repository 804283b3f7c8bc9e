// SPDX-License-Identifier: MIT
// The module comes in parts (split/split.mjs). The first runs alone and has what most first answers take; the others add functions
// that it lacks. Each can be added without the others. A call of a missing function tells which part it is in; then the request is
// repeated with that part (engine.ts).
import { internal } from './errors.js';

/** The names of the parts. Later ones are in the files probust-NAME.wasm. */
export const partNames = ['first', 'images', 'more', 'curves', 'rest'] as const;
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
