// SPDX-License-Identifier: MIT
// Two ways not to answer questions that nobody asks any more.

/** An answer, and the key of what was asked. */
export interface Kept<T> {
  key: string;
  value: T;
}

/** Waits, or rejects once it is not wanted any more. */
export const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => (clearTimeout(timer), reject(signal.reason as Error)), { once: true });
  });

type Job = (signal: AbortSignal) => Promise<void>;

/** Whether it was wanted, and is nothing to tell. */
export const isAborted = (error: unknown): boolean => {
  const code = (error as { code?: string } | null)?.code;
  return code === 'aborted' || code === 'disposed' || (error as { name?: string } | null)?.name === 'AbortError';
};

/** Long work: a new job ends the one before it. */
export class Replacing {
  #controller: AbortController | undefined;

  constructor(private readonly failed: (error: unknown) => void) {}

  run(job: Job): void {
    this.stop();
    const controller = (this.#controller = new AbortController());
    job(controller.signal).catch((error: unknown) => {
      if (!controller.signal.aborted && !isAborted(error)) this.failed(error);
    });
  }

  stop(): void {
    this.#controller?.abort();
    this.#controller = undefined;
  }
}

/**
 * Short work, asked for at every frame: one job runs, the newest waits, those between are dropped. Ending the one that runs
 * instead would leave a dragged point without any answer until it rests.
 */
export class Newest {
  #controller = new AbortController();
  #waiting: Job | undefined;
  #running = false;

  constructor(private readonly failed: (error: unknown) => void) {}

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
      } catch (error) {
        if (!signal.aborted && !isAborted(error)) this.failed(error);
      }
    }
    this.#running = false;
  }
}
