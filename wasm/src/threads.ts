// SPDX-License-Identifier: MIT
// `probust/threads`: one module whose models run on several threads that share its memory. Its files lie in threads/ and go to a
// server as they are: threads start from scripts by name, which bundlers would tear apart.
import type { Probust } from './api.js';
import { WorkerEndpoint } from './client.js';
import { assemble, countOf } from './create.js';
import { ProbustError } from './errors.js';
import { browserPort, compile, hasSimd, isNode } from './platform.js';
import type { ProbustOptions } from './types.js';

export * from './public.js';

const missing = (what: string, hint: string) =>
  new ProbustError({ code: 'environment', message: `threads: ${what}; ${hint}`, hint });

function requireShared(): void {
  if (isNode) throw missing('are for browsers', "in node use createProbust({ threads }) of 'probust'");
  if (!globalThis.crossOriginIsolated) {
    const headers = 'Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp';
    throw missing('the page shares no memory', `serve it with ${headers}, or use 'probust', whose workers need neither`);
  }
  if (!hasSimd()) throw missing('SIMD is not available here', "use 'probust', which goes without");
}

// Not in the form that bundlers look for.
const folder = './threads';
const beside = (file: string) => new URL(`${folder}/${file}`, import.meta.url);

/**
 * As createProbust of `probust`, for pages that are cross-origin isolated: always in a worker, with `threads` threads (one a core
 * by default) for each call. `workerUrl` is where threads/worker.mjs is served, with the other files of that folder beside it.
 * Rejects with a ProbustError: `environment` where memory cannot be shared or a file is missing, `aborted`, `usage`.
 */
export async function createProbust(options: ProbustOptions = {}): Promise<Probust> {
  const threads = countOf(options.threads ?? navigator.hardwareConcurrency);
  requireShared();
  const workerUrl = new URL(options.workerUrl ?? beside('worker.mjs'), globalThis.location.href);
  const module = await compile(options.wasmUrl ?? new URL('probust-threads.wasm', workerUrl), options.signal);
  const worker = browserPort(new Worker(workerUrl, { type: 'module' }));
  return assemble([await WorkerEndpoint.start(worker, module, threads)], { simd: true, workers: 1 });
}
