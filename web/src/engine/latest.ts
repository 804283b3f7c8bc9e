// SPDX-License-Identifier: MIT
// Two ways to drop outdated requests, and limits on waiting.

/** Waits; rejects if aborted. */
export const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => (clearTimeout(timer), reject(signal.reason as Error)), { once: true });
  });

/** The job's result; undefined if it takes longer than `milliseconds`, which aborts it. */
export async function within<T>(
  milliseconds: number,
  signal: AbortSignal,
  job: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const controller = new AbortController();
  const end = () => controller.abort();
  const timer = setTimeout(end, milliseconds);
  signal.addEventListener('abort', end, { once: true });
  try {
    return await job(controller.signal);
  } catch (error) {
    if (controller.signal.aborted && !signal.aborted) return undefined;
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

type Job = (signal: AbortSignal) => Promise<void>;

/** Called when a job ends, with or without an error, unless it was aborted. */
export type Settled = (error?: unknown) => void;

/** Whether the error comes from an abort or a disposal, and need not be reported. */
export const isAborted = (error: unknown): boolean => {
  const code = (error as { code?: string } | null)?.code;
  return code === 'aborted' || code === 'disposed' || (error as { name?: string } | null)?.name === 'AbortError';
};

/** Runs long work. A new job aborts the previous one. */
export class Replacing {
  #controller: AbortController | undefined;

  constructor(private readonly settled: Settled) {}

  run(job: Job): void {
    this.#controller?.abort();
    const controller = (this.#controller = new AbortController());
    const end = (error?: unknown) => {
      if (!controller.signal.aborted && !isAborted(error)) this.settled(error);
    };
    job(controller.signal).then(() => end(), end);
  }

  /** Aborts the job, and clears the error of the previous one. */
  stop(): void {
    this.#controller?.abort();
    this.#controller = undefined;
    this.settled();
  }
}

/**
 * For short work, requested every frame: one job runs, the newest request waits, and requests in between are dropped. If the
 * running job were aborted instead, there would be no result while a point is dragged.
 */
export class Newest {
  #controller = new AbortController();
  #waiting: Job | undefined;
  #running = false;

  constructor(private readonly settled: Settled) {}

  run(job: Job): void {
    this.#waiting = job;
    if (!this.#running) void this.#work();
  }

  stop(): void {
    this.#waiting = undefined;
    this.#controller.abort();
    this.#controller = new AbortController();
  }

  async #work(): Promise<void> {
    this.#running = true;
    while (this.#waiting) {
      const job = this.#waiting;
      const { signal } = this.#controller;
      this.#waiting = undefined;
      try {
        await job(signal);
        if (!signal.aborted) this.settled();
      } catch (error) {
        if (!signal.aborted && !isAborted(error)) this.settled(error);
      }
    }
    this.#running = false;
  }
}
