// SPDX-License-Identifier: MIT
import { browserPort, isNode, nodePort, type Port } from './platform.js';

/** A worker from worker.mjs, which lies beside this file; bundlers know the words new Worker(new URL(...)). */
export async function spawn(url: string | URL | undefined): Promise<Port> {
  if (isNode) return nodePort(url ?? new URL('./worker.mjs', import.meta.url));
  return browserPort(
    url === undefined
      ? new Worker(new URL('./worker.mjs', import.meta.url), { type: 'module' })
      : new Worker(url, { type: 'module' }),
  );
}
