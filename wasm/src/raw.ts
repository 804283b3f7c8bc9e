// SPDX-License-Identifier: MIT
// The module's interface through Embind (bindings.cpp). It is internal to this package.
import type { Wants } from './protocol.js';
import type { EstimatorInfo, ModelInfo } from './types.js';

export interface RawError {
  code: number;
  message: string;
  problem: string;
  hint: string;
  op: string;
  node: string;
}

export type Outcome<T> = { value: T; error?: undefined } | { error: RawError };

/**
 * Result of a step. If it has neither a value nor an error, more steps follow; if `wants` is set, that request must be answered
 * first.
 */
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
  analyse(operation: string, args: object): Outcome<unknown>;
  estimators(): EstimatorInfo[];
  pointsTogether(args: object): Outcome<{ points: number; estimators: string[] }>;
}

/** The exports of Emscripten's glue. */
export type ModuleFactory = (overrides: {
  instantiateWasm(
    imports: WebAssembly.Imports,
    receive: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): object;
  /** Used only by the module with threads. */
  threads: number;
}) => Promise<RawModule>;
