// SPDX-License-Identifier: MIT
// `probust`: probust.wasm lies beside this file, where bundlers that know new URL(..., import.meta.url) find it.
import createModule from './glue.mjs';
import type { Probust } from './api.js';
import { create } from './create.js';
import { compile } from './platform.js';
import { spawn } from './spawn.js';
import type { ProbustOptions } from './types.js';

export * from './public.js';

/**
 * Loads the WebAssembly module: with SIMD where there is SIMD.
 * Rejects with a ProbustError: `environment` where the module or a worker cannot be started, `aborted`, `usage`.
 */
export function createProbust(options: ProbustOptions = {}): Promise<Probust> {
  return create(
    {
      factory: createModule,
      compile(simd, { wasmUrl, signal }) {
        const beside = simd ? new URL('./probust.wasm', import.meta.url) : new URL('./probust-scalar.wasm', import.meta.url);
        return compile(wasmUrl ?? beside, signal);
      },
      spawn,
    },
    options,
  );
}
