// SPDX-License-Identifier: MIT
// Answers requests with a WebAssembly instance in this thread. Long calls run in steps; the thread is free between them.
import { aborted, disposed, environment, internal, ProbustError, resources, usage, type ProbustErrorCode } from './errors.js';
import type { Endpoint, Kind, ReplyOf, Request, RequestOf, Watch } from './protocol.js';
import type { ModuleFactory, Outcome, RawCall, RawError, RawModel, RawModule, RawTraining } from './raw.js';

// The core's error codes are the command line's exit statuses.
const codes: Record<number, ProbustErrorCode> = {
  2: 'usage',
  3: 'unreadable',
  4: 'unsupported',
  5: 'resources',
  6: 'numerical',
};

const fromRaw = (error: RawError) => new ProbustError({ ...error, code: codes[error.code] ?? 'internal' });

function valueOf<T>(outcome: Outcome<T>): T {
  if (outcome.error) throw fromRaw(outcome.error);
  return outcome.value;
}

/** Resolves after the thread's pending tasks. Timers would wait for at least four milliseconds. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

const notOurs = (error: unknown): ProbustError => {
  const hint = 'set wasmUrl to the probust.wasm of this version';
  return environment(`the WebAssembly module does not start (${String(error)})`, hint, error);
};

const isTrap = (error: unknown): boolean =>
  error instanceof WebAssembly.RuntimeError ||
  Object.prototype.toString.call(error) === '[object WebAssembly.Exception]' ||
  /stack|recursion/i.test((error as Error | undefined)?.message ?? '') ||
  /BindingError|UnboundTypeError/.test((error as Error | undefined)?.name ?? '');

/**
 * The error for the caller, if the module did not cause it and stays usable. While it reads arguments, JavaScript throws if one
 * cannot be converted or if a getter throws; later, if a result does not fit into memory.
 */
function complaint(error: unknown, reading: boolean): ProbustError | undefined {
  if (isTrap(error)) return undefined;
  const what = error instanceof Error ? error.message : String(error);
  if (error instanceof RangeError) return resources(`memory: ${what}`, undefined, error);
  return reading ? usage(`arguments: ${what}`, undefined, error) : undefined;
}

interface Pace {
  /** How long one step may keep the thread busy. */
  stepMilliseconds: number;
  /** How many threads work on a model; more than 1 only if the module was built for it. */
  threads: number;
}

export class Engine implements Endpoint {
  readonly #module: RawModule;
  readonly #pace: Pace;
  readonly #models = new Map<number, RawModel>();
  readonly #trainings = new Map<number, RawTraining>();
  #nextHandle = 1;
  #closed = false;
  #fault: ProbustError | undefined;

  private constructor(module: RawModule, pace: Pace) {
    this.#module = module;
    this.#pace = pace;
  }

  static async create(factory: ModuleFactory, module: WebAssembly.Module, pace: Pace): Promise<Engine> {
    const raw = await new Promise<RawModule>((resolve, fail) => {
      const reject = (error: unknown) => fail(notOurs(error));
      const instantiateWasm: Parameters<ModuleFactory>[0]['instantiateWasm'] = (imports, receive) => {
        WebAssembly.instantiate(module, imports)
          .then((instance) => receive(instance, module))
          .catch(reject);
        return {};
      };
      // In some versions of Emscripten the glue's result has a `then` of its own: it must not be awaited twice.
      factory({ instantiateWasm, threads: pace.threads }).then((made) => resolve(made), reject);
    });
    return new Engine(raw, pace);
  }

  async send<K extends Kind>(request: RequestOf<K>, watch: Watch = {}): Promise<ReplyOf<K>> {
    return (await this.#answer(request as Request, watch)) as ReplyOf<K>;
  }

  close(): void {
    this.#closed = true;
    for (const handles of [this.#models, this.#trainings]) {
      for (const handle of handles.values()) this.#delete(handle);
      handles.clear();
    }
  }

  async #answer(request: Request, watch: Watch): Promise<unknown> {
    if (this.#closed) throw disposed('probust');
    switch (request.kind) {
      case 'describe':
        return this.#guarded(() => ({ version: this.#module.version, estimators: this.#module.estimators() }));
      case 'load':
        return this.#guarded(() => this.#load(request), true);
      case 'release':
        return this.#release(request.handle);
      case 'mvn':
        return this.#guarded(() => valueOf(this.#module.mvn(request.args)), true);
      case 'analyse':
        return this.#guarded(() => valueOf(this.#module.analyse(request.operation, request.args)), true);
      case 'together':
        return this.#guarded(() => valueOf(this.#module.pointsTogether(request.args)), true);
      case 'call': {
        const model = this.#models.get(request.model);
        if (!model) throw disposed('the model');
        return this.#run(() => model.start(request.operation, request.args), watch);
      }
      case 'data':
        return this.#run(() => this.#module.data(request.args), watch);
      case 'train':
        return this.#guarded(() => this.#train(request.args), true);
      case 'training': {
        const training = this.#trainings.get(request.training);
        if (!training) throw disposed('the training');
        return this.#run(() => training.start(request.operation, request.args), watch);
      }
    }
  }

  #load({ bytes, options, external }: RequestOf<'load'>) {
    const all = { ...options, threads: this.#pace.threads };
    const model = valueOf(external ? this.#module.loadExternal(bytes, all) : this.#module.loadModel(bytes, all));
    const id = this.#nextHandle++;
    this.#models.set(id, model);
    return { model: id, info: model.info() };
  }

  #train(args: object): number {
    const training = valueOf(this.#module.train(args));
    const id = this.#nextHandle++;
    this.#trainings.set(id, training);
    return id;
  }

  #release(id: number): void {
    for (const handles of [this.#models, this.#trainings]) {
      const handle = handles.get(id);
      if (handle) this.#delete(handle);
      handles.delete(id);
    }
  }

  async #run(start: () => Outcome<RawCall>, watch: Watch): Promise<unknown> {
    const call = this.#guarded(() => valueOf(start()), true);
    try {
      for (;;) {
        if (watch.signal?.aborted) throw aborted();
        if (this.#closed) throw disposed('probust');
        const report = this.#guarded(() => call.step(this.#pace.stepMilliseconds));
        watch.onProgress?.({ passes: report.passes, planned: report.planned });
        if (report.error) throw fromRaw(report.error);
        if ('value' in report) return report.value;
        if (report.wants) {
          const logits = await watch.forward!(report.wants, watch.signal);
          this.#guarded(() => valueOf(call.answer(logits)));
        }
        await nextTurn();
      }
    } finally {
      this.#delete(call);
    }
  }

  /** Skipped after a trap, because it would trap again. */
  #delete(handle: { delete(): void }): void {
    if (!this.#fault) handle.delete();
  }

  /** A trap leaves the instance's memory in an unknown state, so the instance is not used again. */
  #guarded<T>(body: () => T, reading = false): T {
    if (this.#fault) throw this.#fault;
    try {
      return body();
    } catch (error) {
      if (error instanceof ProbustError) throw error;
      const wrong = complaint(error, reading);
      if (wrong) throw wrong;
      this.#fault = internal(`the WebAssembly module failed: ${String(error)}`, 'create a new instance', error);
      throw this.#fault;
    }
  }
}
