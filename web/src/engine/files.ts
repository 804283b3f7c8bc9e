// SPDX-License-Identifier: MIT
// Reads the bytes at a URL, which may be a data URL.
import { isAborted } from './latest.js';

/** Browsers do not report why they cannot fetch something. */
function unfetched(url: string, cause: unknown): never {
  if (isAborted(cause)) throw cause;
  const advice = 'Check the address and your connection. Its server must allow other sites to read it.';
  throw new Error(`The model at ${url} cannot be fetched. ${advice}`, { cause });
}

/** The bytes of a data URL. Bundlers turn small files into such URLs, which strict policies do not let a page fetch. */
export const inlinedBytes = (url: string): Uint8Array =>
  Uint8Array.from(atob(url.slice(url.indexOf(',') + 1)), (each) => each.charCodeAt(0));

export async function bytesOf(url: string, signal: AbortSignal): Promise<Uint8Array> {
  if (/^data:[^,]*;base64,/.test(url)) return inlinedBytes(url);
  const response = await fetch(url, { signal }).catch((error: unknown) => unfetched(url, error));
  if (!response.ok) throw new Error(`The model at ${url} cannot be fetched (HTTP status ${response.status}). Check the address.`);
  return new Uint8Array(await response.arrayBuffer());
}
