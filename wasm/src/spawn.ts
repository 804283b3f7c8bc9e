// SPDX-License-Identifier: MIT
import { usage } from './arguments.js';
import { browserPort, isNode, nodePort, type Port } from './platform.js';

/** Beside this file; not written as bundlers look for it, who would take it for one file more. */
const here = (): string => import.meta.url;
const beside = (): URL => new URL('worker.mjs', here());

function addressOf(url: string | URL): URL {
  try {
    return new URL(url, globalThis.document?.baseURI ?? globalThis.location?.href);
  } catch (error) {
    throw usage(`workerUrl: '${String(url)}' is no address`, 'give for example /worker.mjs', error);
  }
}

const isElsewhere = ({ protocol, origin }: URL): boolean => /^https?:$/.test(protocol) && origin !== globalThis.location.origin;

/** Scripts of other origins, such as a content delivery network, do not start as workers; a script of our own may import them. */
function importing(url: URL): Worker {
  const script = new Blob([`import ${JSON.stringify(url.href)};`], { type: 'text/javascript' });
  const own = URL.createObjectURL(script);
  const worker = new Worker(own, { type: 'module' });
  for (const sign of ['message', 'error']) worker.addEventListener(sign, () => URL.revokeObjectURL(own), { once: true });
  return worker;
}

/** Bundlers know the words new Worker(new URL(...)). */
function started(given: string | URL | undefined): Worker {
  const url = given === undefined ? beside() : addressOf(given);
  if (isElsewhere(url)) return importing(url);
  if (given !== undefined) return new Worker(url, { type: 'module' });
  return new Worker(new URL('./worker.mjs', import.meta.url), { type: 'module' });
}

/** A worker from worker.mjs, which lies beside this file. */
export async function spawn(url: string | URL | undefined): Promise<Port> {
  return isNode ? nodePort(url ?? beside()) : browserPort(started(url));
}
