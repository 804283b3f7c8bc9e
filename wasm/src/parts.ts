// SPDX-License-Identifier: MIT
// The module is divided into parts (split/split.mjs). The first part runs alone and has the functions of most first estimates;
// each of the other parts adds functions, and can be added without the remaining ones. A call of a missing function reports its
// part; the request is then repeated with that part (engine.ts).
import { internal } from './errors.js';

/** The names of the parts. Later ones are in the files probust-NAME.wasm. */
export const partNames = ['first', 'images', 'more', 'curves', 'rest'] as const;
export type PartName = (typeof partNames)[number];

/** Compiled parts. A module that is not split has only a first part. */
export type Modules = ReadonlyMap<PartName, WebAssembly.Module>;

/** A module in parts. */
export interface Parts {
  /** The loaded parts, at least the first. */
  readonly modules: Modules;
  load(part: PartName): Promise<WebAssembly.Module>;
}

/** The name of the module from which functions of the given part are imported until that part is loaded. */
export const placeholders = (part: PartName): string => `p${partNames.indexOf(part)}`;
/** The name of the module from which later parts import functions of the first part. */
export const firstNamespace = 'f';

export const isWhole = (module: WebAssembly.Module): boolean =>
  !WebAssembly.Module.imports(module).some((each) => partNames.some((part) => each.module === placeholders(part)));

/** A module that is not split. */
export const whole = (module: WebAssembly.Module): Parts => ({
  modules: new Map([['first', module]]),
  load: () => Promise.reject(internal('the WebAssembly module is loaded, but one of its functions is missing')),
});

/** The address of a part, if the first one is at `wasmUrl`. */
export const nextTo = (wasmUrl: string | URL, part: PartName): string =>
  String(wasmUrl).replace(/[^/]*$/, `probust-${part}.wasm`);
