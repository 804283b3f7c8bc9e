// SPDX-License-Identifier: MIT
import { callNames, copied, divided, floats, holding, optionsOf, texts, type Names } from './arguments.js';
import type { CheckOptions, CheckReport } from './check.js';
import { dispose } from './dispose.js';
import { disposed, usage } from './errors.js';
import type { PGradient, PGradientOptions } from './gradient-types.js';
import { addHint, oneClassOf, receiverOf, wishesOf, type CheckWishes, type Found } from './first-check.js';
import { classesOf } from './data/labels.js';
import type { EstimateArguments, Everywhere, Pool } from './pool.js';
import type { Forward, Watch } from './protocol.js';
import { noiseOf } from './noise.js';
import type { NoiseModel } from './noise-types.js';
import { elementCount } from './shape.js';
import type {
  CallOptions,
  Cloud,
  CloudOptions,
  Curve,
  EstimateOptions,
  Linearization,
  LinearizeOptions,
  ModelInfo,
  NearestBoundary,
  Numbers,
  PointOptions,
  Row,
  Slice,
  SliceOptions,
  SweepOptions,
} from './types.js';
import type { Verification, VerifyOptions } from './verify-types.js';
import { compared, uniformPoints } from './verify.js';

/** What is needed to release a model. It does not refer to the Model, so that the registry does not keep the Model alive. */
interface Lease {
  pool: Pool;
  model: Everywhere;
  external?: ExternalEngine | undefined;
}

/** An engine outside the module that runs a model. */
export interface ExternalEngine {
  forward: Forward;
  release(): void;
  /** Whether the engine is a function of the caller, which may expect inputs in any units. */
  isFunction?: boolean;
}

function release({ pool, model, external }: Lease): void {
  pool.release(model);
  external?.release();
}

const forgotten = new FinalizationRegistry<Lease>(release);

/** Options of a model's methods. Each method accepts the options of the others, so that they can share one object. */
const askedNames: Names<EstimateOptions & LinearizeOptions & SweepOptions & SliceOptions & CloudOptions> = {
  ...callNames,
  ...{ arrays: true, categories: true, transforms: true, clip: true, levels: true },
  ...{ seed: true, index: true, target: true, noise: true, estimators: true, estimator: true },
  ...{ samples: true, sigmas: true, smooth: true, reach: true, resolution: true, count: true },
  ...{ labels: true, groups: true, top: true, perClass: true, check: true, onWarning: true },
  ...{ budget: true, totalBudget: true, independent: true, share: true, calibrate: true },
};

/**
 * Rejects `estimator` instead of `estimators`, and vice versa: otherwise, the option would be ignored and a different estimator
 * used.
 */
function notFor(where: string, options: object, name: string, other: string): void {
  if (name in options || !(other in options)) return;
  throw usage(`${where} has no option '${other}'`, `write ${name}`);
}

const checkNames: Names<CheckOptions> = { ...callNames, labels: true, sigma: true };

const verifyNames: Names<VerifyOptions> = { ...callNames, x: true };

/**
 * A classifier. All methods are asynchronous. Long calls run in steps, so that the page remains responsive. Methods reject with a
 * {@link ProbustError}: `usage` for invalid arguments (x has the wrong length or contains NaN, an unknown estimator), `aborted`,
 * `disposed`, `resources`.
 */
export class Model {
  /** Facts about the model. */
  readonly info: ModelInfo;
  readonly #lease: Lease;
  #disposed = false;

  /** @internal */
  constructor(pool: Pool, model: Everywhere, info: ModelInfo, external?: ExternalEngine) {
    this.info = info;
    this.#lease = { pool, model, external };
    forgotten.register(this, this.#lease, this);
  }

  /** Logits [N, C], row-major, at points x [N, ...]. */
  async logits(x: Numbers, options: CallOptions = {}): Promise<Float32Array> {
    return (await this.#call('logits', x, optionsOf('logits', options, askedNames))) as Float32Array;
  }

  /** Checks whether the points x [N, ...], the model's preprocessing and the labels match, on up to 500 of the points. */
  async check(x: Numbers, options: CheckOptions = {}): Promise<CheckReport> {
    const { sigma, ...given } = optionsOf('check', options, checkNames);
    const sigmas = sigma === undefined ? [] : typeof sigma === 'number' ? [sigma] : Array.from(sigma);
    const { json, words } = (await this.#call('check', x, { ...given, sigma: sigmas })) as { json: string; words: string };
    return { ...(JSON.parse(json) as Omit<CheckReport, 'words'>), words };
  }

  /**
   * Returns one row for each point of x [N, ...], noise model and estimator, nested in this order. If there are labels, or at
   * least 20 points, the call begins with a short check.
   */
  async estimate(x: Numbers, options: EstimateOptions): Promise<Row[]> {
    this.#live();
    const { args, watch } = divided(optionsOf('estimate', options, askedNames));
    notFor('estimate', options, 'estimators', 'estimator');
    const drawn = noiseOf(args.noise, this.#lease.external?.forward);
    const request = {
      ...args,
      ...classesOf(this.info, args),
      x: floats('x', x, this.#lease.external?.isFunction),
      ...drawn.args,
      estimators: texts(args.estimators ?? 'auto'),
      index: args.index ?? 0,
    };
    const wishes = wishesOf(options, request.x.length / elementCount(this.info.pointShape));
    return holding(this, () => this.#checked(request, wishes, { ...watch, forward: drawn.forward }));
  }

  /** The rows of an estimate, after the optional check. */
  async #checked(given: EstimateArguments, { checked, warn }: CheckWishes, watch: Watch): Promise<Row[]> {
    const { pool, model } = this.#lease;
    const rowsOf = (request: EstimateArguments) => pool.estimate(model, elementCount(this.info.pointShape), request, watch);
    if (!checked) return rowsOf(given);
    const request = copied(given); // the caller may change the original
    const find = (more: object = {}) =>
      pool.call(model, 'firstCheck', { ...request, ...more }, { ...watch, onProgress: undefined }) as Promise<Found>;
    const first = await find();
    first.warnings.forEach(warn);
    const rows = await rowsOf(request);
    const oneClass = oneClassOf(rows);
    const found = oneClass === undefined ? first : await find({ oneClass });
    found.warnings.slice(first.warnings.length).forEach(warn);
    addHint(rows, found.hint);
    return rows;
  }

  /** Margins, their gradients and Gram matrix at one point x, and the resulting normal problem z, R. */
  async linearize(x: Numbers, noise: NoiseModel, options: LinearizeOptions = {}): Promise<Linearization> {
    const given = optionsOf('linearize', options, askedNames);
    return (await this.#call('linearize', x, { ...given, noise })) as Linearization;
  }

  /** The gradients of p with respect to each element of each point of x [N, ...]. */
  async pGradient(x: Numbers, options: PGradientOptions): Promise<PGradient> {
    const { onWarning, ...given } = optionsOf('pGradient', options, askedNames);
    notFor('pGradient', given, 'estimator', 'estimators');
    const warn = receiverOf(onWarning);
    const { warnings, ...found } = (await this.#call('pGradient', x, given)) as PGradient & { warnings: string[] };
    warnings.forEach(warn);
    return found;
  }

  /** p at one point x for several noise scales. */
  async sweep(x: Numbers, options: SweepOptions): Promise<Curve> {
    const given = optionsOf('sweep', options, askedNames);
    notFor('sweep', given, 'estimator', 'estimators');
    return (await this.#call('sweep', x, given)) as Curve;
  }

  /**
   * Decision regions on the plane through x along u and v [d], which are orthonormalised. By default, they are the gradients of
   * the two smallest margins.
   */
  async slice(x: Numbers, u?: Numbers | null, v?: Numbers | null, options: SliceOptions = {}): Promise<Slice> {
    return (await this.#call('slice', x, { ...optionsOf('slice', options, askedNames), u, v })) as Slice;
  }

  /** Noisy samples of one point x and the predicted class of each: exactly the samples that the estimator "mc:N" counts. */
  async cloud(x: Numbers, options: CloudOptions): Promise<Cloud> {
    return (await this.#call('cloud', x, optionsOf('cloud', options, askedNames))) as Cloud;
  }

  /**
   * The nearest point to x with a different prediction, found along gradients if the model has them, from the regions of
   * decision trees, or by a random search with `seed` and `index`.
   */
  async nearestBoundary(x: Numbers, options: Omit<PointOptions, 'target' | 'labels'> = {}): Promise<NearestBoundary> {
    const given = optionsOf('nearestBoundary', options, askedNames);
    return (await this.#call('nearestBoundary', x, given)) as NearestBoundary;
  }

  /**
   * Compares the logits with those of another model, for example from `probust/ort`, at points x [N, ...] or, without x, at eight
   * points with elements uniform in [0, 1].
   */
  async verify(other: Pick<Model, 'info' | 'logits'>, options: VerifyOptions = {}): Promise<Verification> {
    const { x, ...watched } = optionsOf('verify', options, verifyNames);
    const points = x ?? uniformPoints(8, elementCount(this.info.pointShape));
    if (typeof other?.logits !== 'function' || !other.info)
      throw usage('the first argument of verify is not a model', 'give a model, for example from probust/ort');
    if (other.info.classes !== this.info.classes) {
      throw usage(
        `the other model has ${other.info.classes} classes, but this one has ${this.info.classes}`,
        'give models with the same classes',
      );
    }
    const [own, others] = await Promise.all([this.logits(points, watched), other.logits(points, watched)]);
    return compared(own, others, this.info.classes);
  }

  /** Frees the memory. Later calls reject with code `disposed`; running calls do the same or complete. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    forgotten.unregister(this);
    release(this.#lease);
  }

  [dispose](): void {
    this.dispose();
  }

  #live(): void {
    if (this.#disposed) throw disposed('the model');
  }

  async #call<T extends CallOptions>(operation: string, x: Numbers, options: T): Promise<unknown> {
    this.#live();
    const { args, watch } = divided(options);
    const { pool, model, external } = this.#lease;
    const classes = classesOf(this.info, args);
    const { noise } = args as { noise?: NoiseModel | null };
    const drawn = noise == null ? undefined : noiseOf(noise, external?.forward);
    return holding(this, () =>
      pool.call(
        model,
        operation,
        { ...args, ...classes, ...drawn?.args, x: floats('x', x, external?.isFunction) },
        { ...watch, forward: drawn ? drawn.forward : external?.forward },
      ),
    );
  }
}
