// SPDX-License-Identifier: MIT
// The worker's end of the connection: an engine that processes messages. Between its steps, it receives requests to abort.
import { Engine } from './engine.js';
import { ProbustError, toRecord } from './errors.js';
import type { PartName } from './parts.js';
import { builtin, isNode } from './platform.js';
import type { Forward, FromWorker, ToWorker } from './protocol.js';
import type { ModuleFactory } from './raw.js';

const stepMilliseconds = 40;

/** A running request, and the callback that waits for logits. */
interface Running {
  controller: AbortController;
  answer?: (message: Extract<ToWorker, { type: 'answer' }>) => void;
}

interface NodePort {
  on(event: 'message', listener: (message: ToWorker) => void): void;
  postMessage(message: FromWorker): void;
}

/** This worker's message port, in node or in a browser. */
async function near(): Promise<{ post: (message: FromWorker) => void; listen: (receive: (message: ToWorker) => void) => void }> {
  if (isNode) {
    const port = (await builtin<{ parentPort: NodePort }>('node:worker_threads')).parentPort;
    return { post: (message) => port.postMessage(message), listen: (receive) => port.on('message', receive) };
  }
  return {
    post: (message) => globalThis.postMessage(message),
    listen: (receive) => {
      globalThis.onmessage = (event: MessageEvent<ToWorker>) => receive(event.data);
    },
  };
}

export async function serve(factory: ModuleFactory): Promise<void> {
  const { post, listen } = await near();
  const running = new Map<number, Running>();
  const loading = new Map<PartName, (message: Extract<ToWorker, { type: 'part' }>) => void>();
  let engine: Engine | undefined;

  /** The page compiles every part only once for all its workers. */
  const load = (part: PartName) =>
    new Promise<WebAssembly.Module>((resolve, reject) => {
      loading.set(part, ({ module, error }) => (module ? resolve(module) : reject(new ProbustError(error!))));
      post({ type: 'part', part });
    });

  async function start({ modules, threads }: Extract<ToWorker, { type: 'start' }>): Promise<void> {
    try {
      engine = await Engine.create(factory, { modules, load }, { stepMilliseconds, threads });
      post({ type: 'ready' });
    } catch (error) {
      post({ type: 'failed', error: toRecord(error) });
    }
  }

  async function answer({ id, request, progress }: Extract<ToWorker, { type: 'request' }>): Promise<void> {
    const controller = new AbortController();
    const own: Running = { controller };
    running.set(id, own);
    const forward: Forward = (wants) =>
      new Promise((resolve, reject) => {
        own.answer = ({ logits, error }) => (logits ? resolve(logits) : reject(new ProbustError(error!)));
        post({ type: 'wants', id, wants });
      });
    const onProgress = progress
      ? (now: { passes: number; planned: number }) => post({ type: 'progress', id, progress: now })
      : undefined;
    try {
      post({ type: 'value', id, value: await engine!.send(request, { signal: controller.signal, onProgress, forward }) });
    } catch (error) {
      post({ type: 'error', id, error: toRecord(error) });
    } finally {
      running.delete(id);
    }
  }

  listen((message) => {
    if (message.type === 'start') void start(message);
    else if (message.type === 'part') loading.get(message.part)?.(message);
    else if (message.type === 'abort') running.get(message.id)?.controller.abort();
    else if (message.type === 'answer') running.get(message.id)?.answer?.(message);
    else void answer(message);
  });
}
