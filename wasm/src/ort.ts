// SPDX-License-Identifier: MIT
// `probust/ort`: models that ONNX Runtime Web runs, including operators that probust does not support. Noise, counting and
// statistics remain in probust, which requests the logits of noisy inputs.
import type { Probust } from './api.js';
import { batchOf, modelNames, optionsOf, type Names } from './arguments.js';
import { aborted, disposed, environment, ProbustError, unreadable, unsupported, resources, usage } from './errors.js';
import type { Model } from './model.js';
import { cutToLogits, endedIn, withOpenBatch, type Cut } from './onnx.js';
import { readModel } from './platform.js';
import type { Forward, Wants } from './protocol.js';
import { elementCount } from './shape.js';
import type { ModelInfo, ModelOptions, ModelSource } from './types.js';
import { uniformPoints } from './verify.js';

/** The part of the module `onnxruntime-web` that is used. */
export interface OrtModule {
  InferenceSession: { create(bytes: Uint8Array, options?: object): Promise<unknown> };
  Tensor: new (type: 'float32', data: Float32Array, dims: readonly number[]) => unknown;
}

export interface OrtOptions extends ModelOptions {
  /** The module to use, such as `await import('onnxruntime-web/webgpu')`; `onnxruntime-web` by default. */
  ort?: OrtModule;
  /** 'auto' (the default) means 'webgpu' if there is an adapter, otherwise 'wasm'; `model.info.engine` names the one in use. */
  provider?: 'auto' | 'webgpu' | 'wasm';
  /** Inputs per run; by default up to 64, but fewer if inputs are large. */
  batch?: number;
  /** Additional options for InferenceSession.create. */
  session?: object;
}

const names: Names<OrtOptions> = {
  ...modelNames,
  ...{ ort: true, provider: true, batch: true, session: true },
};

type Provider = 'webgpu' | 'wasm';
type Ask = () => Promise<ModelInfo | undefined>;

interface OrtMetadata {
  name: string;
  isTensor: boolean;
  type?: string;
  shape?: readonly (number | string)[];
}

interface OrtSession {
  readonly inputMetadata?: readonly OrtMetadata[]; // since 1.22
  readonly outputNames: readonly string[];
  run(feeds: Record<string, unknown>): Promise<Record<string, { data: ArrayLike<number | bigint> }>>;
  release(): Promise<void>;
}

const reason = (error: unknown): string => String(error instanceof Error ? error.message : error).split('\n')[0]!;

/** Whether an extent is fixed. An unnamed symbolic extent is -1, which some versions show as an unsigned number. */
const isGiven = (extent: number | string | undefined): extent is number =>
  typeof extent === 'number' && extent > 0 && extent < 2 ** 31;

async function importOrt(): Promise<OrtModule> {
  try {
    return (await import('onnxruntime-web')) as unknown as OrtModule;
  } catch (error) {
    const hint = 'npm install onnxruntime-web, or pass its module as the option ort';
    throw environment(`onnxruntime-web cannot be loaded (${reason(error)})`, hint, error);
  }
}

async function hasAdapter(): Promise<boolean> {
  const { gpu } = (globalThis.navigator ?? {}) as { gpu?: { requestAdapter(): Promise<unknown> } };
  return gpu !== undefined && Boolean(await gpu.requestAdapter().catch(() => null));
}

async function providersOf(wanted: OrtOptions['provider'] = 'auto'): Promise<Provider[]> {
  if (wanted === 'wasm') return ['wasm'];
  if (wanted !== 'auto' && wanted !== 'webgpu') {
    throw usage(`the provider '${String(wanted)}' is not known`, 'use auto, webgpu or wasm');
  }
  if (await hasAdapter()) return wanted === 'auto' ? ['webgpu', 'wasm'] : ['webgpu'];
  if (wanted === 'auto') return ['wasm'];
  throw environment('there is no WebGPU adapter', 'use the provider wasm');
}

/** An ONNX Runtime session with one input and one output of numbers. */
class Session {
  /** Shape of the input, with a batch of 1. */
  readonly shape: number[];
  /** The fixed number of inputs per run; undefined if any number is allowed. */
  readonly group: number | undefined;
  readonly #ort: OrtModule;
  readonly #session: OrtSession;
  readonly #input: string;
  #last: Promise<unknown> = Promise.resolve();
  #released = false;

  private constructor(ort: OrtModule, session: OrtSession, wanted: readonly number[] | undefined) {
    this.#ort = ort;
    this.#session = session;
    const { name, shape } = onlyInput(session);
    const [first, ...rest] = shape;
    const inner = [...(wanted ?? (shape.length > 1 ? [1, ...rest] : shape))];
    if (!inner.every(isGiven)) {
      throw usage(
        `the input '${name}' has the shape [${shape.join(', ')}], which is not fixed`,
        'give inputShape, such as [1, 3, 224, 224]',
      );
    }
    this.#input = name;
    this.shape = inner;
    if (shape.length === 1) this.group = 1;
    else this.group = isGiven(first) ? first : undefined;
  }

  static async create(ort: OrtModule, bytes: Uint8Array, provider: Provider, options: OrtOptions): Promise<Session> {
    let session: OrtSession | undefined;
    try {
      // The runtime may take ownership of the buffer.
      const given = { ...options.session, executionProviders: [provider] };
      session = (await ort.InferenceSession.create(bytes.slice(), given)) as OrtSession;
      return new Session(ort, session, options.inputShape && Array.from(options.inputShape));
    } catch (error) {
      await session?.release().catch(() => undefined);
      if (error instanceof ProbustError) throw error;
      const damaged = /protobuf|parsing failed/i.test(reason(error));
      const message = `ONNX Runtime cannot load the model with ${provider} (${reason(error)})`;
      throw (damaged ? unreadable : unsupported)(message, undefined, error);
    }
  }

  /** The output at inputs [count, d]. Runs of one session are sequential. */
  run(wants: Wants): Promise<Float32Array> {
    const result = this.#last.then(() => {
      if (this.#released) throw disposed('the model');
      return this.#run(wants);
    });
    this.#last = result.catch(() => undefined);
    return result;
  }

  release(): void {
    this.#released = true;
    void this.#last.then(() => this.#session.release()).catch(() => undefined);
  }

  async #run({ count, values }: Wants): Promise<Float32Array> {
    const size = this.group ?? count;
    const elements = values.length / count;
    const parts: Float32Array[] = [];
    for (let first = 0; first < count; first += size) {
      const batch = new Float32Array(size * elements);
      batch.set(values.subarray(first * elements, (first + size) * elements));
      const output = await this.#forward(batch, size);
      if (output.length % size !== 0) {
        throw unsupported(
          `the model returned ${output.length} numbers for ${size} inputs, which is not the same number for each`,
          'export it with one row of outputs per input',
        );
      }
      parts.push(output.subarray(0, (output.length / size) * Math.min(size, count - first)));
    }
    return parts.length === 1 ? parts[0]! : concatenated(parts);
  }

  async #forward(batch: Float32Array, size: number): Promise<Float32Array> {
    const dims = this.shape.length > 1 ? [size, ...this.shape.slice(1)] : this.shape;
    try {
      const feeds = { [this.#input]: new this.#ort.Tensor('float32', batch, dims) };
      const { data } = (await this.#session.run(feeds))[this.#session.outputNames[0]!]!;
      return data instanceof Float32Array ? data : Float32Array.from(data as ArrayLike<number>, Number);
    } catch (error) {
      const failure = /memory|alloc/i.test(reason(error)) ? resources : unsupported;
      throw failure(`ONNX Runtime cannot run the model (${reason(error)})`, undefined, error);
    }
  }
}

function onlyInput(session: OrtSession): { name: string; shape: readonly (number | string)[] } {
  if (!session.inputMetadata) {
    throw environment('onnxruntime-web is older than 1.22', 'npm install onnxruntime-web@latest');
  }
  const [input, ...others] = session.inputMetadata;
  const names = session.inputMetadata.map(({ name }) => name).join(', ');
  if (!input || others.length > 0) {
    throw unsupported(`the model has the inputs ${names}, but only one is supported`, 'make the others constants at export');
  }
  if (!input.isTensor || input.type !== 'float32' || !input.shape?.length) {
    throw unsupported(
      `the input '${input.name}' is of type ${input.type ?? 'unknown'}, but only float32 is supported`,
      'export the model with a float32 input',
    );
  }
  return { name: input.name, shape: input.shape };
}

function concatenated(parts: readonly Float32Array[]): Float32Array {
  const whole = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** A session whose output is logits, and a description of how they were obtained. */
interface Logits {
  session: Session;
  provider: Provider;
  classes: number;
  forward: Forward;
  notes: string[];
}

const probe = (session: Session, count: number): Wants => ({
  count,
  values: uniformPoints(count, elementCount(session.shape)),
});

/** Whether a batch has the same results as its inputs one by one. */
async function sameInBatches(alone: Session, together: Session): Promise<boolean> {
  const wants = probe(alone, 3);
  const [expected, actual] = [await alone.run(wants), await together.run(wants)];
  const scale = expected.reduce((largest, value) => Math.max(largest, Math.abs(value)), 1e-3);
  return actual.length === expected.length && actual.every((value, i) => Math.abs(value - expected[i]!) <= 1e-4 * scale);
}

/** A session with a dynamic batch if the model's fixed batch of 1 can be removed; otherwise the session itself. */
async function opened(session: Session, bytes: Uint8Array, create: (bytes: Uint8Array) => Promise<Session>, notes: string[]) {
  if (session.group === undefined) return session;
  let open: Session | undefined;
  try {
    if (session.group === 1 && session.shape.length > 1) open = await create(withOpenBatch(bytes));
    if (open && open.group === undefined && (await sameInBatches(session, open))) {
      session.release();
      notes.push('the batch was fixed at 1 and is now dynamic: three inputs together gave the same results as one by one');
      return open;
    }
  } catch {
    // The edited model does not work, so the original is used.
  }
  open?.release();
  notes.push(
    `the batch is fixed at ${session.group}: inputs are run ${session.group === 1 ? 'one by one' : 'in groups of that size'}`,
  );
  return session;
}

/** How the class is determined according to probust's engine; undefined if it does not support the model. */
async function decisionOf(probust: Probust, bytes: Uint8Array, options: OrtOptions): Promise<ModelInfo | undefined> {
  const { output, threshold, outputs, inputShape } = options;
  const given: ModelOptions = {
    ...(output !== undefined && { output }),
    ...(threshold !== undefined && { threshold }),
    ...(outputs !== undefined && { outputs }),
    ...(inputShape !== undefined && { inputShape }),
  };
  try {
    const model = await probust.loadModel(bytes, given);
    const { info } = model;
    model.dispose();
    return info;
  } catch (error) {
    // An operator that probust lacks is a reason for using this engine. Any other error concerns how the class is determined.
    if (error instanceof ProbustError && error.code === 'unsupported' && error.op) return undefined;
    throw error;
  }
}

async function logitsBy(ort: OrtModule, provider: Provider, cut: Cut, options: OrtOptions, ask: Ask): Promise<Logits> {
  const create = (bytes: Uint8Array) => Session.create(ort, bytes, provider, options);
  const notes = [...cut.notes];
  let session = await opened(await create(cut.bytes), cut.bytes, create, notes);
  let forward: Forward = (wants) => session.run(wants);
  try {
    const classes = (await forward(probe(session, 1))).length;
    if (classes > 1) return { session, provider, classes, forward, notes };
    const threshold = options.threshold ?? (cut.beforeSigmoid === undefined ? (await ask())?.threshold : undefined);
    if (threshold !== undefined) {
      notes.push(`one number determines the class: class 1 if it is above ${threshold}`);
      return { session, provider, classes: 2, forward: againstZero(forward, threshold), notes };
    }
    if (cut.beforeSigmoid === undefined) {
      throw unsupported(
        `the output '${cut.output}' is one number, but the model does not define which values mean class 1`,
        'give threshold: 0 for a score, 0.5 for a probability',
      );
    }
  } catch (error) {
    session.release();
    throw error;
  }
  // P(second class) = sigmoid(s): two logits, 0 and s.
  session.release();
  const bytes = endedIn(cut.bytes, cut.beforeSigmoid);
  session = await opened(await create(bytes), bytes, create, []);
  forward = againstZero((wants) => session.run(wants), 0);
  notes.push('the final Sigmoid of one number is removed: there are two classes, whose margin is the number before it');
  return { session, provider, classes: 2, forward, notes };
}

/** Two logits: 0, and the model's only number minus the threshold. */
function againstZero(forward: Forward, threshold: number): Forward {
  return async (wants) => {
    const numbers = await forward(wants);
    return Float32Array.from({ length: 2 * numbers.length }, (_, i) => (i % 2 ? numbers[i >> 1]! - threshold : 0));
  };
}

/** Only the logits with the indices `outputs`, in this order. */
function restricted({ forward, classes, ...others }: Logits, outputs: readonly number[]): Logits {
  const wrong = outputs.find((k, i) => !Number.isInteger(k) || k < 0 || k >= classes || outputs.indexOf(k) !== i);
  if (wrong !== undefined || outputs.length < 2) {
    const problem =
      wrong === undefined ? 'selects only one class' : `has ${wrong}, which the output does not have or which is listed twice`;
    throw usage(`the option outputs ${problem}`, `give at least two of 0..${classes - 1}`);
  }
  const some: Forward = async (wants) => {
    const logits = await forward(wants);
    const count = (logits.length / classes) * outputs.length;
    return Float32Array.from({ length: count }, (_, i) => {
      const row = Math.floor(i / outputs.length);
      return logits[row * classes + outputs[i % outputs.length]!]!;
    });
  };
  return { ...others, classes: outputs.length, forward: some };
}

/** The session of the first provider that runs the model. */
async function firstThatRuns(ort: OrtModule, cut: Cut, options: OrtOptions, ask: Ask): Promise<Logits> {
  const refusals: string[] = [];
  for (const provider of await providersOf(options.provider)) {
    try {
      const all = await logitsBy(ort, provider, cut, options, ask);
      const logits = options.outputs === undefined ? all : restricted(all, Array.from(options.outputs));
      logits.notes.push(...refusals);
      return logits;
    } catch (error) {
      if (provider === 'wasm' || options.provider === 'webgpu') throw error;
      refusals.push(`WebGPU cannot run the model: ${reason(error)}`);
    }
  }
  throw environment('there is no provider');
}

/**
 * Loads a classifier that ONNX Runtime Web runs. It supports all calls that need only logits: `logits`, `estimate` and `sweep`
 * with `mc`, `probit`, `subset`, `softmax` and `auto`, `slice` along given directions. Calls that need gradients reject with
 * `unsupported`.
 *
 * Rejects like `Probust.loadModel`, and with `environment` if onnxruntime-web is not installed.
 */
export async function createOrtModel(probust: Probust, source: ModelSource, options: OrtOptions = {}): Promise<Model> {
  const { mean, std, layout, shape, memory, classNames, tolerance, signal } = optionsOf('createOrtModel', options, names);
  if (typeof probust?.loadExternal !== 'function')
    throw usage('the first argument of createOrtModel is not a result of createProbust', 'give await createProbust()');
  if (tolerance !== undefined) throw unsupported('tolerance is for models that probust runs itself', 'use loadModel');
  if (options.ort && typeof options.ort.InferenceSession?.create !== 'function') {
    throw usage('the option ort is not ONNX Runtime', "give await import('onnxruntime-web')");
  }
  const bytes = await readModel(source, signal);
  let asked: Promise<ModelInfo | undefined> | undefined;
  const ask: Ask = () => (asked ??= decisionOf(probust, bytes, options));
  let cut = cutToLogits(bytes, options.output);
  if (cut.outputs > 1 && options.output === undefined) {
    const decision = await ask();
    if (decision) cut = cutToLogits(bytes, decision.logits);
    else cut.notes.push(`the output '${cut.output}' is the first of ${cut.outputs}; the option output selects another`);
  }
  const { session, provider, ...logits } = await firstThatRuns(options.ort ?? (await importOrt()), cut, options, ask);
  try {
    if (signal?.aborted) throw aborted();
    const request = {
      ...{ mean, std, layout, shape, memory, classNames },
      inputShape: session.shape,
      classes: logits.classes,
      engine: `onnxruntime-web (${provider})`,
      output: cut.output,
      notes: logits.notes,
      batch: batchOf(options.batch, elementCount(session.shape)),
    };
    return await probust.loadExternal(bytes, request, { forward: logits.forward, release: () => session.release() });
  } catch (error) {
    session.release();
    throw error;
  }
}

export { ProbustError } from './errors.js';
export type { Probust } from './api.js';
export type { Model } from './model.js';
