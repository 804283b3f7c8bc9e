// SPDX-License-Identifier: MIT
import { usage } from './arguments.js';
import { browserPort, isNode, nodePort, type Port } from './platform.js';

/** Beside this file; not written as bundlers look for it, who would take it for one file more. */
const here = (): string => import.meta.url;
const beside = (): URL => new URL('worker.mjs', here());

const named = (error: unknown, name: string): boolean => (error as Error | undefined)?.name === name;

/** Scripts of other origins, such as a content delivery network, do not start as workers; a script of our own may import them. */
function importing(url: string | URL): Worker {
  const script = `import ${JSON.stringify(new URL(url, globalThis.document?.baseURI).href)};`;
  return new Worker(URL.createObjectURL(new Blob([script], { type: 'text/javascript' })), { type: 'module' });
}

/** Bundlers know the words new Worker(new URL(...)). */
function started(url: string | URL | undefined): Worker {
  try {
    if (url !== undefined) return new Worker(url, { type: 'module' });
    return new Worker(new URL('./worker.mjs', import.meta.url), { type: 'module' });
  } catch (error) {
    if (named(error, 'SecurityError')) return importing(url ?? beside());
    if (named(error, 'SyntaxError')) throw usage(`workerUrl: '${String(url)}' is no address`, undefined, error);
    throw error;
  }
}

/** A worker from worker.mjs, which lies beside this file. */
export async function spawn(url: string | URL | undefined): Promise<Port> {
  return isNode ? nodePort(url ?? beside()) : browserPort(started(url));
}
