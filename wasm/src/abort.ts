// SPDX-License-Identifier: MIT
import { aborted } from './errors.js';

/** The result of `work`. If the signal aborts first, calls `stop` and rejects with code `aborted`. */
export async function unlessAborted<T>(work: Promise<T>, signal?: AbortSignal, stop?: () => void): Promise<T> {
  if (!signal) return work;
  let abort!: () => void;
  const ended = new Promise<never>((_, reject) => {
    abort = () => {
      reject(aborted());
      stop?.();
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort);
  });
  try {
    return await Promise.race([ended, work]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Runs `work` with a separate controller, which the signal also aborts. */
export async function withController<T>(
  signal: AbortSignal | undefined,
  work: (controller: AbortController) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort);
  try {
    return await work(controller);
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}
