// SPDX-License-Identifier: MIT
// The module as Embind shows it (bindings.cpp). Nothing of it leaves this package.
import type { Wants } from './protocol.js';
import type { EstimatorInfo, ModelInfo } from './types.js';

export interface RawError {
  code: number;
  message: string;
  hint: string;
  op: string;
  node: string;
}

export type Outcome<T> = { value: T; error?: undefined } | { error: RawError };

/** What a step says: where neither value nor error is there, there is more to do, once what it wants was answered. */
export interface Report {
  passes: number;
  planned: number;
  value?: unknown;
  error?: RawError;
  wants?: Wants;
}

interface Handle {
  delete(): void;
}

export interface RawCall extends Handle {
  step(milliseconds: number): Report;
  answer(logits: Float32Array): Outcome<true>;
}

export interface RawModel extends Handle {
  info(): ModelInfo;
  start(operation: string, args: object): Outcome<RawCall>;
}

export interface RawTraining extends Handle {
  start(operation: string, args: object): Outcome<RawCall>;
}

export interface RawModule {
  readonly version: string;
  loadModel(bytes: Uint8Array, options: object): Outcome<RawModel>;
  loadExternal(bytes: Uint8Array, options: object): Outcome<RawModel>;
  train(args: object): Outcome<RawTraining>;
  data(args: object): Outcome<RawCall>;
  mvn(args: object): Outcome<unknown>;
  estimators(): EstimatorInfo[];
  pointsTogether(args: object): Outcome<number>;
}

/** What Emscripten's glue exports. */
export type ModuleFactory = (overrides: {
  instantiateWasm(
    imports: WebAssembly.Imports,
    receive: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): object;
  /** Only the module with threads asks. */
  threads: number;
}) => Promise<RawModule>;
