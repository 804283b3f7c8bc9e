// SPDX-License-Identifier: MIT
// `probust/threads`: one module whose models run on several threads with shared memory. Copy its files in threads/ to the server
// unchanged: threads are started from scripts by name, and bundlers would break that.
import type { Probust } from './api.js';
import { optionsOf, type Names } from './arguments.js';
import { WorkerEndpoint } from './client.js';
import { assemble, countOf, requireWebAssembly } from './create.js';
import { environment, usage } from './errors.js';
import { whole } from './parts.js';
import { browserPort, compile, isNode, type Port } from './platform.js';
import type { ThreadsOptions } from './types.js';

export * from './public.js';

const names: Names<ThreadsOptions> = { threads: true, workerUrl: true, wasmUrl: true, signal: true };

const coep = 'Cross-Origin-Embedder-Policy: require-corp';
const hint = `set workerUrl to the address of worker.mjs in the folder threads/ of the package; its files also need ${coep}`;

const missing = (what: string, advice: string, cause?: unknown) => environment(`probust/threads ${what}`, advice, cause);

function requireShared(): void {
  if (isNode) throw missing('works only in browsers', "in node use createProbust({ threads }) of 'probust'");
  requireWebAssembly();
  if (!globalThis.crossOriginIsolated) {
    const headers = `Cross-Origin-Opener-Policy: same-origin and ${coep}`;
    throw missing(
      'needs a page that can share memory',
      `serve it with ${headers}, or use 'probust', whose workers do not need them`,
    );
  }
}

/**
 * This script's URL. It is a function, because bundlers match new URL(..., import.meta.url) and would bundle the whole folder.
 */
const here = (): string => import.meta.url;

interface Places {
  worker: URL;
  module: URL;
}

function placesOf({ workerUrl, wasmUrl }: ThreadsOptions): Places {
  const page = globalThis.document?.baseURI ?? globalThis.location.href;
  try {
    const worker = workerUrl === undefined ? new URL('threads/worker.mjs', here()) : new URL(workerUrl, page);
    return { worker, module: wasmUrl === undefined ? new URL('probust-threads.wasm', worker) : new URL(wasmUrl, page) };
  } catch (error) {
    const given = `${String(workerUrl)}, ${String(wasmUrl)}`;
    throw usage(`workerUrl or wasmUrl is not an address (${given})`, 'give addresses such as /threads/worker.mjs', error);
  }
}

function started(worker: URL): Port {
  try {
    return browserPort(new Worker(worker, { type: 'module' }));
  } catch (error) {
    throw missing(`cannot start ${String(worker)} from this page`, hint, error); // the worker is on another origin
  }
}

/**
 * Like createProbust in `probust`, but for cross-origin isolated pages: the module always runs in a worker, with `threads`
 * threads for each call. Rejects with a ProbustError: `environment` if memory cannot be shared or a file is missing, `aborted`,
 * `usage`.
 */
export async function createProbust(options: ThreadsOptions = {}): Promise<Probust> {
  const { signal } = optionsOf('createProbust', options, names);
  requireShared();
  const threads = countOf(options.threads ?? navigator.hardwareConcurrency ?? 1);
  const places = placesOf(options);
  const parts = whole(await compile(places.module, { signal, hint }));
  return assemble([await WorkerEndpoint.start(started(places.worker), parts, { threads, hint, signal })], { workers: 1 });
}
