// SPDX-License-Identifier: MIT
import { usage } from './errors.js';
import { browserPort, isNode, nodePort, type Port } from './platform.js';

/**
 * This file's URL. It is a function, because bundlers match new URL(..., import.meta.url) and would bundle worker.mjs as an
 * asset.
 */
const here = (): string => import.meta.url;
const nextToThis = (): URL => new URL('worker.mjs', here());

function addressOf(url: string | URL): URL {
  try {
    return new URL(url, globalThis.document?.baseURI ?? globalThis.location?.href);
  } catch (error) {
    throw usage(`workerUrl is '${String(url)}', which is not an address`, 'give an address, such as /worker.mjs', error);
  }
}

const isElsewhere = ({ protocol, origin }: URL): boolean => /^https?:$/.test(protocol) && origin !== globalThis.location.origin;

/** Scripts of other origins, such as a CDN, cannot be started as workers, but a local script can import them. */
function importing(url: URL): Worker {
  const script = new Blob([`import ${JSON.stringify(url.href)};`], { type: 'text/javascript' });
  const own = URL.createObjectURL(script);
  const worker = new Worker(own, { type: 'module' });
  for (const sign of ['message', 'error']) worker.addEventListener(sign, () => URL.revokeObjectURL(own), { once: true });
  return worker;
}

/** The last line must be new Worker(new URL(...)) verbatim, which bundlers recognise. */
function started(given: string | URL | undefined): Worker {
  const url = given === undefined ? nextToThis() : addressOf(given);
  if (isElsewhere(url)) return importing(url);
  if (given !== undefined) return new Worker(url, { type: 'module' });
  return new Worker(new URL('./worker.mjs', import.meta.url), { type: 'module' });
}

/** Starts a worker from worker.mjs, by default in the folder of this file. */
export async function spawn(url: string | URL | undefined): Promise<Port> {
  return isNode ? nodePort(url ?? nextToThis()) : browserPort(started(url));
}
