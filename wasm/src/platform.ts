// SPDX-License-Identifier: MIT
// Differences between browsers and node: reading files, compiling, starting workers.
import { unlessAborted } from './abort.js';
import { unfit } from './arguments.js';
import { aborted, environment, unreadable, usage } from './errors.js';
import type { FromWorker, ToWorker } from './protocol.js';
import type { ModelSource } from './types.js';

interface NodeProcess {
  versions?: { node?: string };
}
interface NodeFiles {
  promises: { readFile(path: string | URL): Promise<Uint8Array> };
}
interface NodeWorker {
  on(event: 'message' | 'error' | 'exit', listener: (value: never) => void): void;
  postMessage(message: ToWorker, transfer?: readonly ArrayBuffer[]): void;
  terminate(): void;
  ref(): void;
  unref(): void;
}
interface NodeThreads {
  Worker: new (url: URL, options: { execArgv: string[] }) => NodeWorker;
}
interface NodeUrls {
  pathToFileURL(path: string): URL;
}

const nodeProcess = (globalThis as { process?: NodeProcess }).process;
export const isNode = typeof nodeProcess?.versions?.node === 'string';

/** A built-in module of node, imported by name at run time so that bundlers do not look for it. */
export const builtin = async <T>(name: string): Promise<T> =>
  (await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as T;

/** A module with one SIMD instruction: (func (result v128) (i8x16.splat (i32.const 0))). */
const simdProbe = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11,
]);

export const hasSimd = (): boolean => WebAssembly.validate(simdProbe);

const unreachable = (what: string, cause: unknown) => {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return unreadable(`${what} cannot be loaded (${reason})`, 'check the path or address', cause);
};

const accepted = (response: Response, what: string): Response => {
  if (response.ok) return response;
  throw unreachable(what, `HTTP status ${response.status}`);
};

async function download(url: string | URL, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(url, signal ? { signal } : {}).catch((error: unknown) => {
    throw signal?.aborted ? aborted() : unreachable(String(url), error);
  });
  return accepted(response, String(url));
}

/** The complete content of a response or a file. */
async function bodyOf(body: Response | Blob, what: string, signal?: AbortSignal): Promise<Uint8Array> {
  const read = body.arrayBuffer().catch((error: unknown) => {
    throw signal?.aborted ? aborted() : unreachable(what, error);
  });
  return new Uint8Array(await unlessAborted(read, signal));
}

/** A copy, because the caller may change its own buffer. */
function copyOf(bytes: ArrayBuffer | ArrayBufferView): Uint8Array {
  const view =
    bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return view.slice();
}

/** In node, a path or file URL, which fetch does not support; undefined otherwise. */
function nodePath(source: string | URL): string | URL | undefined {
  if (!isNode) return undefined;
  const text = String(source);
  if (text.startsWith('file:')) return new URL(text);
  return /^[a-z][a-z0-9+.-]+:/i.test(text) ? undefined : text;
}

async function readUrl(source: string | URL, signal?: AbortSignal): Promise<Uint8Array> {
  const path = nodePath(source);
  if (path === undefined) return bodyOf(await download(source, signal), String(source), signal);
  const { promises } = await builtin<NodeFiles>('node:fs');
  return promises.readFile(path).catch((error: unknown) => {
    throw unreachable(String(source), error);
  });
}

/** The bytes of a model or of other data; `name` is used in errors if the source has no name. */
export async function readModel(source: ModelSource, signal?: AbortSignal, name = 'model'): Promise<Uint8Array> {
  if (signal?.aborted) throw aborted();
  try {
    if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return copyOf(source);
  } catch (error) {
    throw unfit(name, 'give its bytes, or their address', error);
  }
  if (typeof source === 'string' || source instanceof URL) return readUrl(source, signal);
  if (typeof Response !== 'undefined' && source instanceof Response) {
    if (source.bodyUsed || source.body?.locked)
      throw usage(`the response for ${name} has already been read`, 'give a clone of it');
    return bodyOf(accepted(source, source.url || name), source.url || name, signal);
  }
  if (source instanceof Blob) return bodyOf(source, (source as File).name ?? name, signal);
  throw usage(`${name} is neither bytes, nor a URL, nor a Response, nor a File`, 'give one of these');
}

/** Whether a file is read from the disk. */
const isLocal = (source: string | URL): boolean => nodePath(source) !== undefined;

/** Compiles during the download if the server sends application/wasm, otherwise after it. */
async function downloaded(source: string | URL, signal: AbortSignal): Promise<WebAssembly.Module> {
  if (isLocal(source)) return WebAssembly.compile((await readUrl(source)) as BufferSource);
  const response = await download(source, signal);
  const typed = response.headers.get('content-type')?.startsWith('application/wasm');
  if (typed) return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** A module that is being compiled or has been compiled, and the number of callers that wait for it. */
interface Compiling {
  module: Promise<WebAssembly.Module>;
  /** The compiled module; undefined while it is being compiled. */
  ready: WebAssembly.Module | undefined;
  waiting: number;
  stop(): void;
}

/** Modules by address: a page downloads and compiles a module only once for all instances and workers. */
const compiling = new Map<string, Compiling>();

const keyOf = (source: string | URL): string =>
  isLocal(source) ? String(source) : new URL(source, globalThis.document?.baseURI ?? globalThis.location?.href).href;

/** Whether the module at this address is available without a download. */
export const isAtHand = (source: string | URL): boolean => isLocal(source) || compiling.get(keyOf(source))?.ready !== undefined;

function compilingOf(source: string | URL): Compiling {
  const key = keyOf(source);
  const known = compiling.get(key);
  if (known) return known;
  const controller = new AbortController();
  const forget = () => compiling.get(key) === begun && compiling.delete(key);
  const stop = () => {
    controller.abort();
    forget();
  };
  const begun: Compiling = { module: downloaded(source, controller.signal), ready: undefined, waiting: 0, stop };
  compiling.set(key, begun);
  // After a failure, another attempt may succeed.
  begun.module.then((module) => (begun.ready = module), forget);
  return begun;
}

interface CompileOptions {
  signal?: AbortSignal | undefined;
  /** The remedy in the error message. */
  hint?: string;
}

/** The compiled module at this address. The download stops if all callers that wait for the module have aborted. */
export async function compile(
  source: string | URL,
  { signal, hint = 'set wasmUrl to the address of probust.wasm' }: CompileOptions = {},
): Promise<WebAssembly.Module> {
  if (signal?.aborted) throw aborted();
  try {
    const shared = compilingOf(source);
    shared.waiting += 1;
    try {
      return await unlessAborted(shared.module, signal);
    } finally {
      shared.waiting -= 1;
      if (signal?.aborted && shared.waiting === 0) shared.stop();
    }
  } catch (error) {
    if (signal?.aborted) throw aborted();
    throw environment(`no WebAssembly module could be loaded from ${String(source)}`, hint, error);
  }
}

/** A worker, in a browser or in node. */
export interface Port {
  post(message: ToWorker): void;
  listen(receive: (message: FromWorker) => void, fail: (error: unknown) => void): void;
  /** Whether the process must wait for the worker before it exits. */
  hold(on: boolean): void;
  stop(): void;
}

/** Stores an error until there is a listener, because a worker may fail while the module is still being downloaded. */
function failures() {
  let known: { error: unknown } | undefined;
  let tell = (error: unknown): void => void (known ??= { error });
  return {
    tell: (error: unknown) => tell(error),
    listen(fail: (error: unknown) => void) {
      tell = fail;
      if (known) fail(known.error);
    },
  };
}

/** Wraps a browser's worker. */
export function browserPort(worker: Worker): Port {
  const { tell, listen } = failures();
  worker.onerror = (event) => tell(event.message ?? 'the worker could not be loaded');
  return {
    post: (message) => worker.postMessage(message),
    listen(receive, fail) {
      worker.onmessage = (event: MessageEvent<FromWorker>) => receive(event.data);
      listen(fail);
    },
    hold: () => undefined,
    stop: () => worker.terminate(),
  };
}

/**
 * A worker thread of node. It does not inherit the execArgv of this process, which may be meant for a script that is not a file.
 */
export async function nodePort(url: string | URL): Promise<Port> {
  const { Worker } = await builtin<NodeThreads>('node:worker_threads');
  const { pathToFileURL } = await builtin<NodeUrls>('node:url');
  const path = nodePath(url);
  const worker = new Worker(typeof path === 'string' ? pathToFileURL(path) : (path ?? new URL(url)), { execArgv: [] });
  const { tell, listen } = failures();
  worker.on('error', tell as (value: never) => void);
  worker.on('exit', () => tell('it has exited'));
  return {
    post: (message) => worker.postMessage(message),
    listen(receive, fail) {
      worker.on('message', receive as (value: never) => void);
      listen(fail);
    },
    hold: (on) => (on ? worker.ref() : worker.unref()),
    stop: () => worker.terminate(),
  };
}
