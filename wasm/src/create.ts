// SPDX-License-Identifier: MIT
import { Probust } from './api.js';
import { WorkerEndpoint } from './client.js';
import { Engine } from './engine.js';
import { ProbustError } from './errors.js';
import { hasSimd, type Port } from './platform.js';
import { Pool } from './pool.js';
import type { Endpoint } from './protocol.js';
import type { ModuleFactory } from './raw.js';
import type { ProbustOptions } from './types.js';

/** How long a page may stand still: most of a frame. */
const stepMilliseconds = 12;

/** What an entry of the package brings along. */
export interface Assets {
  factory: ModuleFactory;
  /** The compiled module, with SIMD or without. */
  compile(simd: boolean, options: ProbustOptions): Promise<WebAssembly.Module>;
  spawn(url: string | URL | undefined): Promise<Port>;
}

/** More would be a mistake: each takes memory of its own. */
const mostThreads = 256;

/** A number of threads, if it is one. */
export function countOf(threads: number): number {
  if (Number.isInteger(threads) && threads >= 1 && threads <= mostThreads) return threads;
  const hint = `give a whole number from 1 to ${mostThreads}`;
  throw new ProbustError({ code: 'usage', message: `threads: is ${threads}; ${hint}`, hint });
}

function workersOf({ worker, threads }: ProbustOptions): number {
  return threads === undefined ? Number(worker ?? false) : countOf(threads);
}

/** The library around engines that have started. */
export async function assemble(endpoints: readonly Endpoint[], facts: { simd: boolean; workers: number }): Promise<Probust> {
  const pool = new Pool(endpoints);
  const about = await pool.ask<'describe'>(() => ({ kind: 'describe' }));
  return new Probust(pool, { ...about, ...facts });
}

export function requireWebAssembly(): void {
  if (typeof WebAssembly !== 'undefined') return;
  throw new ProbustError({ code: 'environment', message: 'WebAssembly: is not available here' });
}

export async function create(assets: Assets, options: ProbustOptions): Promise<Probust> {
  const workers = workersOf(options);
  requireWebAssembly();
  const simd = hasSimd();
  const module = await assets.compile(simd, options);
  const start = async (): Promise<Endpoint> =>
    workers === 0
      ? Engine.create(assets.factory, module, { stepMilliseconds, threads: 1 })
      : WorkerEndpoint.start(await assets.spawn(options.workerUrl), module);
  return assemble(await Promise.all(Array.from({ length: Math.max(1, workers) }, start)), { simd, workers });
}
