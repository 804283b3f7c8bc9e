// SPDX-License-Identifier: MIT
// `probust`: probust.wasm is next to this file, where bundlers that support new URL(..., import.meta.url) find it.
import createModule from './glue.mjs';
import type { Probust } from './api.js';
import { create } from './create.js';
import { compile } from './platform.js';
import { spawn } from './spawn.js';
import type { ProbustOptions } from './types.js';

export * from './public.js';

/**
 * Loads the WebAssembly module, with SIMD if it is supported.
 * Rejects with a ProbustError: `environment` if the module or a worker cannot be started, `aborted`, `usage`.
 */
export function createProbust(options: ProbustOptions = {}): Promise<Probust> {
  return create(
    {
      factory: createModule,
      compile(simd, { wasmUrl, signal }) {
        const own = simd ? new URL('./probust.wasm', import.meta.url) : new URL('./probust-scalar.wasm', import.meta.url);
        return compile(wasmUrl ?? own, signal);
      },
      spawn,
    },
    options,
  );
}
