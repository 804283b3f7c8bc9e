// SPDX-License-Identifier: MIT
// `probust/compat`: the module is part of the script, for bundlers and servers that do not copy the files next to the script.
import createModule from './glue.mjs';
import type { Probust } from './api.js';
import { create } from './create.js';
import { nextTo } from './parts.js';
import { compile } from './platform.js';
import { spawn } from './spawn.js';
import type { ProbustOptions } from './types.js';
import packed from 'probust.wasm.gz';

export * from './public.js';

let compiled: Promise<WebAssembly.Module> | undefined;

async function unpacked(): Promise<WebAssembly.Module> {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/** Like createProbust in `probust`, but without a download. */
export function createProbust(options: ProbustOptions = {}): Promise<Probust> {
  return create(
    {
      factory: async () => createModule,
      compile({ wasmUrl, signal }) {
        return wasmUrl === undefined ? (compiled ??= unpacked()) : compile(wasmUrl, { signal });
      },
      later: (part, { wasmUrl }) => nextTo(wasmUrl!, part),
      spawn,
    },
    options,
  );
}
