// SPDX-License-Identifier: MIT
// The page's end of the connection to a worker.
import { unlessAborted } from './abort.js';
import { aborted, disposed, environment, ProbustError, toRecord, usage } from './errors.js';
import type { PartName, Parts } from './parts.js';
import type { Port } from './platform.js';
import type { Endpoint, FromWorker, Kind, ReplyOf, Request, RequestOf, Wants, Watch } from './protocol.js';
import type { Progress } from './types.js';

interface Pending {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  watch: Watch;
  /** The error of `watch.forward`, stored here because a message would change it. */
  failure?: unknown;
}

interface StartOptions {
  threads?: number;
  /** Advice for the error message if the worker does not start. */
  hint?: string;
  signal?: AbortSignal | undefined;
}

export class WorkerEndpoint implements Endpoint {
  readonly #port: Port;
  readonly #parts: Parts;
  readonly #pending = new Map<number, Pending>();
  #nextId = 1;
  #fault: ProbustError | undefined;

  private constructor(port: Port, parts: Parts) {
    this.#port = port;
    this.#parts = parts;
  }

  /** Starts an engine in the worker, from parts that were compiled in this thread. */
  static start(
    port: Port,
    parts: Parts,
    { threads = 1, hint = 'set workerUrl to the address of worker.mjs', signal }: StartOptions = {},
  ): Promise<WorkerEndpoint> {
    const endpoint = new WorkerEndpoint(port, parts);
    const started = new Promise<WorkerEndpoint>((resolve, reject) => {
      const end = (fault: ProbustError) => {
        endpoint.#end(fault);
        reject(fault);
      };
      const fail = (error: unknown) => end(environment(`the worker failed: ${String(error)}`, hint, error));
      port.listen((message) => {
        if (message.type === 'ready') {
          port.hold(false);
          resolve(endpoint);
        } else if (message.type === 'failed') end(new ProbustError(message.error));
        else if (message.type === 'part') void endpoint.#sendPart(message.part);
        else endpoint.#receive(message);
      }, fail);
      try {
        port.post({ type: 'start', modules: parts.modules, threads });
      } catch (error) {
        fail(error);
      }
    });
    return unlessAborted(started, signal, () => endpoint.#end(aborted()));
  }

  async send<K extends Kind>(request: RequestOf<K>, watch: Watch = {}): Promise<ReplyOf<K>> {
    if (this.#fault) throw this.#fault;
    if (watch.signal?.aborted) throw aborted();
    const id = this.#nextId++;
    const abort = () => this.#port.post({ type: 'abort', id });
    watch.signal?.addEventListener('abort', abort, { once: true });
    try {
      return (await new Promise((resolve, reject) => {
        this.#port.hold(true);
        this.#pending.set(id, { resolve, reject, watch });
        this.#post(id, request as Request, watch.onProgress !== undefined);
      })) as ReplyOf<K>;
    } finally {
      watch.signal?.removeEventListener('abort', abort);
      this.#pending.delete(id);
      this.#port.hold(this.#pending.size > 0);
    }
  }

  close(): void {
    this.#end(disposed('probust'));
  }

  #post(id: number, request: Request, progress: boolean): void {
    try {
      this.#port.post({ type: 'request', id, request, progress });
    } catch (error) {
      throw usage(`the arguments cannot be sent to a worker: ${String(error)}`, undefined, error);
    }
  }

  async #sendPart(part: PartName): Promise<void> {
    try {
      this.#port.post({ type: 'part', part, module: await this.#parts.load(part) });
    } catch (error) {
      this.#port.post({ type: 'part', part, error: toRecord(error) });
    }
  }

  #receive(message: Extract<FromWorker, { id: number }>): void {
    const pending = this.#pending.get(message.id);
    if (!pending) return;
    if (message.type === 'wants') void this.#answer(message.id, pending, message.wants);
    else if (message.type === 'progress') this.#report(message.id, pending, message.progress);
    else if (message.type === 'value') pending.resolve(message.value);
    else pending.reject(pending.failure ?? new ProbustError(message.error));
  }

  /** If the caller's onProgress throws, the call ends with that error. */
  #report(id: number, { watch, reject }: Pending, progress: Progress): void {
    try {
      watch.onProgress?.(progress);
    } catch (error) {
      this.#port.post({ type: 'abort', id });
      reject(error);
    }
  }

  async #answer(id: number, pending: Pending, wants: Wants): Promise<void> {
    const { forward, signal } = pending.watch;
    try {
      this.#port.post({ type: 'answer', id, logits: await forward!(wants, signal) });
    } catch (error) {
      pending.failure = error;
      this.#port.post({ type: 'answer', id, error: toRecord(error) });
    }
  }

  #end(fault: ProbustError): void {
    this.#fault ??= fault;
    for (const pending of this.#pending.values()) pending.reject(this.#fault);
    this.#port.stop();
  }
}
