// SPDX-License-Identifier: MIT
import { Probust } from './api.js';
import { optionsOf, type Names } from './arguments.js';
import { WorkerEndpoint } from './client.js';
import { Engine } from './engine.js';
import { aborted, environment, ProbustError, usage } from './errors.js';
import { isWhole, partNames, whole, type PartName, type Parts } from './parts.js';
import { compile, hasSimd, isAtHand, type Port } from './platform.js';
import { Pool } from './pool.js';
import type { Endpoint } from './protocol.js';
import type { ModuleFactory } from './raw.js';
import type { ProbustOptions } from './types.js';

/** The maximum duration of a step in the page's own thread, where it blocks the page: most of a frame. */
const stepMilliseconds = 12;

/** The files and functions that each entry point of the package provides. */
interface Assets {
  /** Emscripten's glue, for engines in this thread. Workers have their own. */
  factory(): Promise<ModuleFactory>;
  /** The compiled module; if it is in parts, the first one. */
  compile(options: ProbustOptions): Promise<WebAssembly.Module>;
  /** The address of a later part. */
  later(part: PartName, options: ProbustOptions): string | URL;
  spawn(url: string | URL | undefined): Promise<Port>;
}

/** Each thread needs its own memory, so a larger number must be a mistake. */
const mostThreads = 256;

/** Returns `threads` if it is a valid number of threads; otherwise throws `usage`. */
export function countOf(threads: number): number {
  if (Number.isInteger(threads) && threads >= 1 && threads <= mostThreads) return threads;
  throw usage(`threads is ${threads}`, `give a whole number from 1 to ${mostThreads}`);
}

const names: Names<ProbustOptions> = { wasmUrl: true, worker: true, threads: true, workerUrl: true, signal: true };

function workersOf({ worker, threads }: ProbustOptions): number {
  if (worker != null && typeof worker !== 'boolean') throw usage(`worker is ${String(worker)}`, 'give true or false');
  return threads == null ? Number(worker ?? false) : countOf(threads);
}

/** Creates the library for engines that have started. */
export async function assemble(endpoints: readonly Endpoint[], facts: { workers: number }): Promise<Probust> {
  const pool = new Pool(endpoints);
  try {
    const about = await pool.ask<'describe'>(() => ({ kind: 'describe' }));
    return new Probust(pool, { ...about, ...facts });
  } catch (error) {
    pool.close();
    throw error;
  }
}

export function requireWebAssembly(): void {
  if (typeof WebAssembly === 'undefined') throw environment('WebAssembly is not available');
  if (!hasSimd()) {
    const hint =
      'use Chrome or Edge 95, Firefox 100, Safari 16.4 or node 18, or newer, on a processor that is at most ten years old';
    throw environment('WebAssembly has no SIMD support', hint);
  }
}

/** Waits until all endpoints have started. If one fails, closes the others and rethrows. */
async function together(starting: readonly Promise<Endpoint>[]): Promise<Endpoint[]> {
  try {
    return await Promise.all(starting);
  } catch (error) {
    for (const each of starting) {
      each.then(
        (endpoint) => endpoint.close(),
        () => undefined,
      );
    }
    throw error;
  }
}

/** Returns a handler that rethrows every ProbustError, and converts other errors to a ProbustError with code `environment`. */
function typed(what: string, hint: string): (error: unknown) => never {
  return (cause) => {
    if (cause instanceof ProbustError) throw cause;
    throw environment(`${what} does not start (${String(cause)})`, hint, cause);
  };
}

const glue = (assets: Assets): Promise<ModuleFactory> =>
  assets
    .factory()
    .catch(typed('the script of the WebAssembly module', 'serve the files shared-*.mjs of the package with probust.mjs'));

/** Loads the first part of the module, and those of the other parts that need no download (in node, all of them). */
async function partsOf(assets: Assets, options: ProbustOptions): Promise<Parts> {
  const compiled = async () => assets.compile(options);
  const first = await compiled().catch(typed('the WebAssembly module', 'set wasmUrl to the address of probust.wasm'));
  if (isWhole(first)) return whole(first);
  const hint = 'serve the files probust*.wasm of the package together';
  const load = (part: PartName) => compile(assets.later(part, options), { hint });
  const early = partNames.filter((part) => part !== 'first' && isAtHand(assets.later(part, options)));
  const loaded = await Promise.all(early.map(async (part) => [part, await load(part)] as const));
  return { modules: new Map([['first', first], ...loaded]), load };
}

/** Starts workers while the module is downloaded. They stop if the download fails. */
function spawned(assets: Assets, count: number, { workerUrl }: ProbustOptions, parts: Promise<unknown>): Promise<Port>[] {
  const spawn = async () => assets.spawn(workerUrl).catch(typed('the worker', 'set workerUrl to the address of worker.mjs'));
  const ports = Array.from({ length: count }, spawn);
  const stop = (port: Port) => parts.catch(() => port.stop());
  for (const port of ports) port.then(stop, () => undefined); // the code that awaits the port reports the port's error
  return ports;
}

export async function create(assets: Assets, given: ProbustOptions): Promise<Probust> {
  const options = optionsOf('createProbust', given, names);
  const { signal } = options;
  const workers = workersOf(options);
  requireWebAssembly();
  if (signal?.aborted) throw aborted();
  const loading = partsOf(assets, options);
  const ports = spawned(assets, workers, options, loading);
  const factory = workers === 0 ? glue(assets) : undefined;
  factory?.catch(() => undefined); // if both fail, the module's error is reported
  const parts = await loading;
  const starting: Promise<Endpoint>[] = factory
    ? [factory.then((made) => Engine.create(made, parts, { stepMilliseconds, threads: 1 }))]
    : ports.map(async (port) => WorkerEndpoint.start(await port, parts, { signal }));
  return assemble(await together(starting), { workers });
}
