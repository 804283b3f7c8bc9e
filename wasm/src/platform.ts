// SPDX-License-Identifier: MIT
// What differs between browsers and node: reading files, compiling, starting workers.
import { aborted, ProbustError } from './errors.js';
import type { FromWorker, ToWorker } from './protocol.js';
import type { ModelSource } from './types.js';

interface NodeProcess {
  versions?: { node?: string };
}
interface NodeFiles {
  promises: { readFile(path: string | URL): Promise<Uint8Array> };
}
interface NodeWorker {
  on(event: 'message' | 'error', listener: (value: never) => void): void;
  postMessage(message: ToWorker, transfer?: readonly ArrayBuffer[]): void;
  terminate(): void;
  ref(): void;
  unref(): void;
}
interface NodeThreads {
  Worker: new (url: URL) => NodeWorker;
}

const nodeProcess = (globalThis as { process?: NodeProcess }).process;
export const isNode = typeof nodeProcess?.versions?.node === 'string';

/** A module of node's own, asked for by name at run time, so that no bundler looks for it. */
export const builtin = async <T>(name: string): Promise<T> =>
  (await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as T;

/** A module with one SIMD instruction: (func (result v128) (i8x16.splat (i32.const 0))). */
const simdProbe = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11,
]);

export const hasSimd = (): boolean => WebAssembly.validate(simdProbe);

const unreachable = (what: string, cause: unknown) =>
  new ProbustError({ code: 'unreadable', message: `${what}: cannot be loaded; is it there?` }, { cause });

async function download(url: string | URL, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(url, signal ? { signal } : {}).catch((error: unknown) => {
    throw signal?.aborted ? aborted() : unreachable(String(url), error);
  });
  if (!response.ok) throw unreachable(String(url), `HTTP status ${response.status}`);
  return response;
}

/** Paths and file URLs, which fetch refuses there. */
function nodePath(source: string | URL): string | URL | undefined {
  if (!isNode) return undefined;
  const text = String(source);
  if (text.startsWith('file:')) return new URL(text);
  return /^[a-z][a-z0-9+.-]+:/i.test(text) ? undefined : text;
}

async function readUrl(source: string | URL, signal?: AbortSignal): Promise<Uint8Array> {
  const path = nodePath(source);
  if (path === undefined) return new Uint8Array(await (await download(source, signal)).arrayBuffer());
  const { promises } = await builtin<NodeFiles>('node:fs');
  return promises.readFile(path).catch((error: unknown) => {
    throw unreachable(String(source), error);
  });
}

/** The bytes of a model. */
export async function readModel(source: ModelSource, signal?: AbortSignal): Promise<Uint8Array> {
  if (signal?.aborted) throw aborted();
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (typeof source === 'string' || source instanceof URL) return readUrl(source, signal);
  if (typeof Response !== 'undefined' && source instanceof Response) {
    if (!source.ok) throw unreachable(source.url || 'model', `HTTP status ${source.status}`);
    return new Uint8Array(await source.arrayBuffer());
  }
  throw new ProbustError({ code: 'usage', message: 'model: is neither bytes, nor a URL, nor a Response' });
}

/** Compiles while it downloads, where the server says application/wasm; after the download otherwise. */
export async function compile(
  source: string | URL,
  signal?: AbortSignal,
  hint = 'set wasmUrl to where probust.wasm is served',
): Promise<WebAssembly.Module> {
  try {
    if (nodePath(source) !== undefined) return await WebAssembly.compile((await readUrl(source)) as BufferSource);
    const response = await download(source, signal);
    const typed = response.headers.get('content-type')?.startsWith('application/wasm');
    if (typed) return await WebAssembly.compileStreaming(response);
    return await WebAssembly.compile(await response.arrayBuffer());
  } catch (error) {
    if (signal?.aborted) throw aborted();
    throw new ProbustError(
      { code: 'environment', message: `${String(source)}: no WebAssembly module could be loaded; ${hint}`, hint },
      { cause: error },
    );
  }
}

/** A worker, wherever it runs. */
export interface Port {
  post(message: ToWorker): void;
  listen(receive: (message: FromWorker) => void, fail: (error: unknown) => void): void;
  /** Whether the process has to wait for it. */
  hold(on: boolean): void;
  stop(): void;
}

/** Around a browser's worker. */
export function browserPort(worker: Worker): Port {
  return {
    post: (message) => worker.postMessage(message),
    listen(receive, fail) {
      worker.onmessage = (event: MessageEvent<FromWorker>) => receive(event.data);
      worker.onerror = (event) => fail(event.message ?? 'the worker could not be loaded');
    },
    hold: () => undefined,
    stop: () => worker.terminate(),
  };
}

/** A worker thread of node. */
export async function nodePort(url: string | URL): Promise<Port> {
  const { Worker } = await builtin<NodeThreads>('node:worker_threads');
  const worker = new Worker(new URL(url));
  return {
    post: (message) => worker.postMessage(message),
    listen(receive, fail) {
      worker.on('message', receive as (value: never) => void);
      worker.on('error', fail as (value: never) => void);
    },
    hold: (on) => (on ? worker.ref() : worker.unref()),
    stop: () => worker.terminate(),
  };
}
