// SPDX-License-Identifier: MIT
// `probust`: probust.wasm is in the same folder, where bundlers that support new URL(..., import.meta.url) find it.
import type { Probust } from './api.js';
import { create } from './create.js';
import { nextTo, type PartName } from './parts.js';
import { compile } from './platform.js';
import { spawn } from './spawn.js';
import type { ProbustOptions } from './types.js';

export * from './public.js';

/** Bundlers recognise these expressions and copy the files. */
function later(part: PartName): URL {
  if (part === 'images') return new URL('./probust-images.wasm', import.meta.url);
  if (part === 'more') return new URL('./probust-more.wasm', import.meta.url);
  if (part === 'curves') return new URL('./probust-curves.wasm', import.meta.url);
  return new URL('./probust-rest.wasm', import.meta.url);
}

/**
 * Loads the WebAssembly module.
 * Rejects with a ProbustError: `environment` if the module or a worker cannot be started, `aborted`, `usage`.
 */
export function createProbust(options: ProbustOptions = {}): Promise<Probust> {
  return create(
    {
      factory: async () => (await import('./glue.mjs')).default,
      compile({ wasmUrl, signal }) {
        return compile(wasmUrl ?? new URL('./probust.wasm', import.meta.url), { signal });
      },
      later(part, { wasmUrl }) {
        return wasmUrl === undefined ? later(part) : nextTo(wasmUrl, part);
      },
      spawn,
    },
    options,
  );
}
