// SPDX-License-Identifier: MIT
// Processes requests with a WebAssembly instance in this thread. Long calls run in steps; the thread is free between them.
import { unlessAborted } from './abort.js';
import { snapshot } from './arguments.js';
import { aborted, disposed, internal, ProbustError, resources, usage, type ProbustErrorCode } from './errors.js';
import { instantiate, type Instance } from './instance.js';
import { partsFor } from './needs.js';
import { partNames, type Modules, type PartName, type Parts } from './parts.js';
import type { Endpoint, Kind, ReplyOf, Request, RequestOf, Watch } from './protocol.js';
import type { ModuleFactory, Outcome, RawCall, RawError, RawModel, RawTraining } from './raw.js';

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

/** Resolves after the thread's pending tasks. A timer would wait for at least four milliseconds. */
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

const isTrap = (error: unknown): boolean =>
  error instanceof WebAssembly.RuntimeError ||
  Object.prototype.toString.call(error) === '[object WebAssembly.Exception]' ||
  /stack|recursion/i.test((error as Error | undefined)?.message ?? '') ||
  /BindingError|UnboundTypeError/.test((error as Error | undefined)?.name ?? '');

/**
 * The error for the caller, if JavaScript threw it and the module is still usable; otherwise undefined. JavaScript throws while
 * the module reads arguments, if one cannot be converted or its getter throws; it throws later if a result does not fit into
 * memory.
 */
function complaint(error: unknown, reading: boolean): ProbustError | undefined {
  if (isTrap(error)) return undefined;
  const what = error instanceof Error ? error.message : String(error);
  if (error instanceof RangeError) return resources(`memory: ${what}`, undefined, error);
  return reading ? usage(`arguments: ${what}`, undefined, error) : undefined;
}

interface Pace {
  /** The maximum duration of a step. */
  stepMilliseconds: number;
  /** The number of threads per model; more than 1 only if the module was built for threads. */
  threads: number;
}

/** A model and, unless the module is complete, the request that loaded it, which is repeated in each new instance. */
interface Loaded {
  raw: RawModel;
  request: RequestOf<'load'> | undefined;
}

/** Whether a call has ended. A short call ends synchronously, so its arguments need not be copied for a repetition. */
interface Run {
  ended: boolean;
}

/** The request without references to the caller's objects. (The bytes of a model are already a copy.) */
function kept<R extends Exclude<Request, { kind: 'release' }>>(request: R): R {
  if (request.kind === 'load') return { ...request, options: snapshot(request.options) };
  return 'args' in request ? { ...request, args: snapshot(request.args) } : request;
}

const isComplete = ({ parts }: Instance): boolean => parts.size === partNames.length;

const suffices = ({ parts, lacks }: Instance, needed: ReadonlySet<PartName>): boolean =>
  !lacks && [...needed].every((part) => parts.has(part));

/** A function is missing that this call needs (`own`), or that another call of the instance needed. */
class Lacking extends Error {
  constructor(readonly own: boolean) {
    super();
  }
}

export class Engine implements Endpoint {
  readonly #factory: ModuleFactory;
  readonly #pace: Pace;
  readonly #load: Parts['load'];
  #modules: Modules;
  readonly #models = new Map<number, Loaded>();
  readonly #trainings = new Map<number, RawTraining>();
  /** The instance for new calls. It is replaced when a part is added; running calls end in the instance in which they started. */
  #now: Instance;
  #adding: Promise<void> = Promise.resolve();
  #nextHandle = 1;
  #closed = false;
  #fault: ProbustError | undefined;

  private constructor(factory: ModuleFactory, parts: Parts, pace: Pace, now: Instance) {
    this.#factory = factory;
    this.#load = (part) => parts.load(part);
    this.#modules = parts.modules;
    this.#pace = pace;
    this.#now = now;
  }

  static async create(factory: ModuleFactory, parts: Parts, pace: Pace): Promise<Engine> {
    return new Engine(factory, parts, pace, await instantiate(factory, parts.modules, pace.threads));
  }

  async send<K extends Kind>(request: RequestOf<K>, watch: Watch = {}): Promise<ReplyOf<K>> {
    return (await this.#answer(request as Request, watch)) as ReplyOf<K>;
  }

  close(): void {
    this.#closed = true;
    for (const { raw } of this.#models.values()) this.#delete(this.#now, raw);
    for (const training of this.#trainings.values()) this.#delete(this.#now, training);
    this.#models.clear();
    this.#trainings.clear();
  }

  /** Runs a request with the parts that it is known to need, and adds a part whenever a function is missing. */
  async #answer(given: Request, watch: Watch): Promise<unknown> {
    if (this.#closed) throw disposed('probust');
    if (given.kind === 'release') return this.#release(given.handle);
    // The request may be repeated, and the caller may change its arrays as soon as this function waits.
    let request: Exclude<Request, { kind: 'release' }> = given;
    const keep = () => {
      if (request === given && !isComplete(this.#now)) request = kept(given);
    };
    const needed = new Set(partsFor(request));
    for (;;) {
      if (!suffices(this.#now, needed)) {
        keep();
        await this.#add(needed, watch);
      }
      if (this.#closed) throw disposed('probust');
      const at = this.#now;
      try {
        const run = { ended: false };
        const answer = this.#answerIn(at, request, watch, run);
        if (!run.ended) keep();
        return await answer;
      } catch (error) {
        if (!(error instanceof Lacking)) throw error;
        keep();
        if (error.own) needed.add(at.lacks!);
      }
      if (watch.signal?.aborted) throw aborted();
    }
  }

  #answerIn(at: Instance, request: Exclude<Request, { kind: 'release' }>, watch: Watch, run: Run): unknown {
    const { raw } = at;
    switch (request.kind) {
      case 'describe':
        return this.#guarded(at, () => ({ version: raw.version, estimators: raw.estimators() }));
      case 'load':
        return this.#guarded(at, () => this.#loadInto(at, request), true);
      case 'mvn':
        return this.#guarded(at, () => valueOf(raw.mvn(request.args)), true);
      case 'analyse':
        return this.#guarded(at, () => valueOf(raw.analyse(request.operation, request.args)), true);
      case 'together':
        return this.#guarded(at, () => valueOf(raw.pointsTogether(request.args)), true);
      case 'call': {
        const model = this.#models.get(request.model);
        if (!model) throw disposed('the model');
        return this.#run(at, () => model.raw.start(request.operation, request.args), watch, run);
      }
      case 'data':
        return this.#run(at, () => raw.data(request.args), watch, run);
      case 'train':
        return this.#guarded(at, () => this.#train(at, request.args), true);
      case 'training': {
        const training = this.#trainings.get(request.training);
        if (!training) throw disposed('the training');
        return this.#run(at, () => training.start(request.operation, request.args), watch, run);
      }
    }
  }

  /** Adds parts, for one request at a time. */
  #add(needed: ReadonlySet<PartName>, { signal }: Watch): Promise<void> {
    const added = this.#adding.then(() => this.#extend(needed));
    this.#adding = added.catch(() => undefined);
    return unlessAborted(added, signal);
  }

  async #extend(needed: ReadonlySet<PartName>): Promise<void> {
    if (this.#closed || suffices(this.#now, needed)) return;
    const wanted = [...needed].filter((part) => !this.#modules.has(part));
    const loaded = await Promise.all(wanted.map(async (part) => [part, await this.#load(part)] as const));
    this.#modules = new Map([...this.#modules, ...loaded]);
    await this.#restart();
  }

  /** Starts an instance with all loaded parts, and loads the models into it. */
  async #restart(): Promise<void> {
    const now = await instantiate(this.#factory, this.#modules, this.#pace.threads);
    if (this.#closed) return;
    const before = this.#now;
    const again = new Map<number, RawModel>();
    for (const [id, { request }] of this.#models)
      again.set(
        id,
        this.#guarded(now, () => this.#modelOf(now, request!)),
      );
    this.#now = now;
    for (const [id, model] of this.#models) {
      this.#delete(before, model.raw);
      model.raw = again.get(id)!;
      if (isComplete(now)) model.request = undefined;
    }
  }

  #modelOf({ raw }: Instance, { bytes, options, external }: RequestOf<'load'>): RawModel {
    const all = { ...options, threads: this.#pace.threads };
    return valueOf(external ? raw.loadExternal(bytes, all) : raw.loadModel(bytes, all));
  }

  #loadInto(at: Instance, request: RequestOf<'load'>) {
    const raw = this.#modelOf(at, request);
    const info = raw.info();
    const id = this.#nextHandle++;
    this.#models.set(id, { raw, request: isComplete(at) ? undefined : request });
    return { model: id, info };
  }

  #train({ raw }: Instance, args: object): number {
    const training = valueOf(raw.train(args));
    const id = this.#nextHandle++;
    this.#trainings.set(id, training);
    return id;
  }

  #release(id: number): void {
    const handle = this.#models.get(id)?.raw ?? this.#trainings.get(id);
    if (handle) this.#delete(this.#now, handle);
    this.#models.delete(id);
    this.#trainings.delete(id);
  }

  async #run(at: Instance, start: () => Outcome<RawCall>, watch: Watch, run: Run): Promise<unknown> {
    const call = this.#guarded(at, () => valueOf(start()), true);
    try {
      for (;;) {
        if (watch.signal?.aborted) throw aborted();
        if (this.#closed) throw disposed('probust');
        const report = this.#guarded(at, () => call.step(this.#pace.stepMilliseconds));
        watch.onProgress?.({ passes: report.passes, planned: report.planned });
        if (report.error) throw fromRaw(report.error);
        if ('value' in report) {
          run.ended = true;
          return report.value;
        }
        if (report.wants) {
          const logits = await watch.forward!(report.wants, watch.signal);
          this.#guarded(at, () => valueOf(call.answer(logits)));
        }
        await nextTurn();
      }
    } finally {
      this.#delete(at, call);
    }
  }

  /**
   * Deletes a handle, unless the module has trapped, because it would then trap again. Ignores errors if a function is missing.
   */
  #delete(at: Instance, handle: { delete(): void }): void {
    if (this.#fault) return;
    try {
      handle.delete();
    } catch (error) {
      if (!at.lacks) throw error;
    }
  }

  /** After a trap, the memory of the instance is in an unknown state, so it is not used again. */
  #guarded<T>(at: Instance, body: () => T, reading = false): T {
    if (this.#fault) throw this.#fault;
    if (at.lacks) throw new Lacking(false);
    try {
      const result = body();
      if (!at.lacks) return result;
    } catch (error) {
      if (!at.lacks) throw this.#told(error, reading);
    }
    throw new Lacking(true);
  }

  /** The error to report to the caller. */
  #told(error: unknown, reading: boolean): ProbustError {
    if (error instanceof ProbustError) return error;
    const wrong = complaint(error, reading);
    if (wrong) return wrong;
    this.#fault = internal(`the WebAssembly module failed: ${String(error)}`, 'create a new instance', error);
    return this.#fault;
  }
}
