// SPDX-License-Identifier: MIT
import { modelNames, optionsOf, type Names } from './arguments.js';
import type { CheckOptions, CheckReport } from './check.js';
import { dispose } from './dispose.js';
import { usage } from './errors.js';
import { Model, type ExternalEngine } from './model.js';
import { classNamesFor } from './data/labels.js';
import { readModel } from './platform.js';
import type { Pool } from './pool.js';
import { begin, Data, type Training } from './training.js';
import type {
  EstimatorInfo,
  LabelledPoints,
  ModelOptions,
  ModelSource,
  MvnOptions,
  MvnResult,
  Numbers,
  TrainOptions,
} from './types.js';

const mvnNames: Names<MvnOptions> = { abs: true, relFail: true, seed: true };

/** The library: one WebAssembly instance, or one in each of several workers. */
export class Probust {
  readonly version: string;
  /** Number of workers; 0 if everything runs in this thread. */
  readonly workers: number;
  /** All estimators. */
  readonly estimators: readonly EstimatorInfo[];
  /** Generators of data. */
  readonly data: Data;
  readonly #pool: Pool;

  /** @internal */
  constructor(pool: Pool, about: { version: string; estimators: readonly EstimatorInfo[]; workers: number }) {
    this.#pool = pool;
    this.data = new Data(pool);
    this.version = about.version;
    this.estimators = about.estimators;
    this.workers = about.workers;
  }

  /**
   * Loads an ONNX classifier. Rejects with code `unreadable` (not a model, damaged, cannot be fetched), `unsupported` (with
   * `op` and `node`), `usage` (invalid options), `resources` or `aborted`.
   */
  async loadModel(source: ModelSource, options: ModelOptions = {}): Promise<Model> {
    const { signal, ...given } = optionsOf('loadModel', options, modelNames);
    return this.#load(await readModel(source, signal), given);
  }

  /** @internal For `probust/ort` and `probust/function`: a model that another engine runs. */
  async loadExternal(bytes: Uint8Array, options: object, external: ExternalEngine): Promise<Model> {
    return this.#load(bytes, options, external);
  }

  async #load(bytes: Uint8Array, options: Pick<ModelOptions, 'classNames'>, external?: ExternalEngine): Promise<Model> {
    const { classNames, ...given } = options;
    const { model, info } = await this.#pool.load(bytes, given, external !== undefined);
    const loaded = new Model(this.#pool, model, info, external);
    if (classNames == null) return loaded;
    try {
      info.classNames = classNamesFor('classNames', classNames, info.classes);
      return loaded;
    } catch (error) {
      loaded.dispose();
      throw error;
    }
  }

  /** The same as `model.check(x, options)`, with the name used in Python and on the command line. */
  check(model: Model, x: Numbers, options: CheckOptions = {}): Promise<CheckReport> {
    return model.check(x, options);
  }

  /**
   * Computes P(X <= z) for X ~ N(0, R). z is [m]; R is [m, m] row-major, or { U } for R = U Uᵀ, where U is [m, k] row-major and
   * has rows of length 1. Infinities in z are allowed.
   */
  async mvn(z: Numbers, R: Numbers | { U: Numbers }, options: MvnOptions = {}): Promise<MvnResult> {
    const given = optionsOf('mvn', options, mvnNames);
    if (typeof R !== 'object' || R === null) throw usage('R is missing', 'give a matrix, or { U } of its factor');
    const matrix = 'U' in R ? { U: R.U } : { R };
    return (await this.#pool.ask<'mvn'>(() => ({ kind: 'mvn', args: { ...given, z, ...matrix } }))) as MvnResult;
  }

  /** @internal For `probust/analysis`. */
  analyse(operation: string, args: object): Promise<unknown> {
    return this.#pool.ask<'analyse'>(() => ({ kind: 'analyse', operation, args }));
  }

  /**
   * Sets up the training of a network on points x [N, ...] with labels; `Training.run` then trains it. Rejects with code
   * `usage` (invalid labels or options) or `resources`.
   */
  async train(data: LabelledPoints, options: TrainOptions = {}): Promise<Training> {
    return begin(this.#pool, data, options, (onnx) => this.loadModel(onnx));
  }

  /** Frees all memory and stops the workers. */
  dispose(): void {
    this.#pool.close();
  }

  [dispose](): void {
    this.dispose();
  }
}
