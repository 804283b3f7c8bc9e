// SPDX-License-Identifier: MIT
import { callNames, copied, divided, floats, holding, optionsOf, texts, type Names } from './arguments.js';
import type { CheckOptions, CheckReport } from './check.js';
import { dispose } from './dispose.js';
import { disposed, usage } from './errors.js';
import { addHint, oneClassOf, wishesOf, type CheckWishes, type Found } from './first-check.js';
import { classesOf } from './data/labels.js';
import type { EstimateArguments, Everywhere, Pool } from './pool.js';
import type { Forward, Watch } from './protocol.js';
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
  Verification,
  VerifyOptions,
} from './types.js';
import { compared, uniformPoints } from './verify.js';

/** What is needed to release a model. It does not refer to the Model, which the registry must not keep alive. */
interface Lease {
  pool: Pool;
  model: Everywhere;
  external?: ExternalEngine | undefined;
}

/** Another engine that runs a model. */
export interface ExternalEngine {
  forward: Forward;
  release(): void;
  /** Whether it is a function of the caller's, which takes points in units of its own. */
  isFunction?: boolean;
}

function release({ pool, model, external }: Lease): void {
  pool.release(model);
  external?.release();
}

const forgotten = new FinalizationRegistry<Lease>(release);

/** Options of a model's calls. Each call accepts those of the others, so that they can share one options object. */
const askedNames: Names<EstimateOptions & LinearizeOptions & SweepOptions & SliceOptions & CloudOptions> = {
  ...callNames,
  ...{ arrays: true, categories: true, clip: true, levels: true },
  ...{ seed: true, index: true, target: true, noise: true, estimators: true, estimator: true },
  ...{ samples: true, sigmas: true, smooth: true, reach: true, resolution: true, count: true },
  ...{ labels: true, groups: true, top: true, perClass: true, check: true, onWarning: true },
  ...{ budget: true, totalBudget: true, independent: true, share: true, calibrate: true },
};

/** Refuses `estimator` for `estimators`, and vice versa: it would be ignored, and another estimator would answer. */
function notFor(where: string, options: object, name: string, other: string): void {
  if (name in options || !(other in options)) return;
  throw usage(`${where}: '${other}' is for another call`, `write ${name}`);
}

const checkNames: Names<CheckOptions> = { ...callNames, labels: true, sigma: true };

const verifyNames: Names<VerifyOptions> = { ...callNames, x: true };

/**
 * A classifier. All its methods are asynchronous: long ones work in steps, and the page stays responsive between them. They
 * reject with a {@link ProbustError}: `usage` for wrong arguments (x of another length or with NaN, an unknown estimator),
 * `aborted`, `disposed`, `resources`.
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

  /** Whether the points x [N, ...], the model's preprocessing and the labels suit each other, on up to 500 of the points. */
  async check(x: Numbers, options: CheckOptions = {}): Promise<CheckReport> {
    const { sigma, ...given } = optionsOf('check', options, checkNames);
    const sigmas = sigma === undefined ? [] : typeof sigma === 'number' ? [sigma] : Array.from(sigma);
    const { json, words } = (await this.#call('check', x, { ...given, sigma: sigmas })) as { json: string; words: string };
    return { ...(JSON.parse(json) as Omit<CheckReport, 'words'>), words };
  }

  /**
   * One row for each point of x [N, ...], noise and estimator, nested in that order. Points with labels, and 20 points or more, are
   * checked first, as `check` does on fewer points.
   */
  async estimate(x: Numbers, options: EstimateOptions): Promise<Row[]> {
    this.#live();
    const { args, watch } = divided(optionsOf('estimate', options, askedNames));
    notFor('estimate', options, 'estimators', 'estimator');
    const request = {
      ...args,
      ...classesOf(this.info, args),
      x: floats('x', x, this.#lease.external?.isFunction),
      noise: texts(args.noise),
      estimators: texts(args.estimators ?? 'auto'),
      index: args.index ?? 0,
    };
    const { external } = this.#lease;
    const wishes = wishesOf(options, request.x.length / elementCount(this.info.pointShape));
    return holding(this, () => this.#checked(request, wishes, { ...watch, forward: external?.forward }));
  }

  /** The rows of an estimate, after the check that is wished. */
  async #checked(given: EstimateArguments, { checked, warn }: CheckWishes, watch: Watch): Promise<Row[]> {
    const { pool, model } = this.#lease;
    const rowsOf = (request: EstimateArguments) => pool.estimate(model, elementCount(this.info.pointShape), request, watch);
    if (!checked) return rowsOf(given);
    const request = copied(given); // the caller may change its own meanwhile
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

  /** Margins, their gradients and Gram matrix at one point x, and the normal problem z, R that follows from them. */
  async linearize(x: Numbers, noise: string, options: LinearizeOptions = {}): Promise<Linearization> {
    const given = optionsOf('linearize', options, askedNames);
    return (await this.#call('linearize', x, { ...given, noise })) as Linearization;
  }

  /** p at one point x over scales of the noise. */
  async sweep(x: Numbers, options: SweepOptions): Promise<Curve> {
    const given = optionsOf('sweep', options, askedNames);
    notFor('sweep', given, 'estimator', 'estimators');
    return (await this.#call('sweep', x, given)) as Curve;
  }

  /**
   * Decision regions on the plane through x along u and v [d], which are orthonormalised. Without them: the plane spanned by
   * the gradients of the two smallest margins.
   */
  async slice(x: Numbers, u?: Numbers | null, v?: Numbers | null, options: SliceOptions = {}): Promise<Slice> {
    return (await this.#call('slice', x, { ...optionsOf('slice', options, askedNames), u, v })) as Slice;
  }

  /** Noisy copies of one point x with the class of each: exactly those that the estimator "mc:N" counts. */
  async cloud(x: Numbers, options: CloudOptions): Promise<Cloud> {
    return (await this.#call('cloud', x, optionsOf('cloud', options, askedNames))) as Cloud;
  }

  /**
   * The nearest point to x with another answer: found along gradients if the model has them, otherwise by a random search
   * keyed by `seed` and `index`.
   */
  async nearestBoundary(x: Numbers, options: Omit<PointOptions, 'target' | 'labels'> = {}): Promise<NearestBoundary> {
    const given = optionsOf('nearestBoundary', options, askedNames);
    return (await this.#call('nearestBoundary', x, given)) as NearestBoundary;
  }

  /**
   * Compares its logits with those of another model, such as one of `probust/ort`, at points x [N, ...]; without x, at eight
   * points whose elements are uniform in [0, 1].
   */
  async verify(other: Pick<Model, 'info' | 'logits'>, options: VerifyOptions = {}): Promise<Verification> {
    const { x, ...watched } = optionsOf('verify', options, verifyNames);
    const points = x ?? uniformPoints(8, elementCount(this.info.pointShape));
    if (typeof other?.logits !== 'function' || !other.info)
      throw usage('verify: the other is not a model', 'give one of probust/ort');
    if (other.info.classes !== this.info.classes) {
      throw usage(`verify: the other model has ${other.info.classes} classes, this one ${this.info.classes}`);
    }
    const [own, others] = await Promise.all([this.logits(points, watched), other.logits(points, watched)]);
    return compared(own, others, this.info.classes);
  }

  /** Frees its memory. Later calls reject with code `disposed`; calls under way do the same or complete. */
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
    return holding(this, () =>
      pool.call(
        model,
        operation,
        { ...args, ...classes, x: floats('x', x, external?.isFunction) },
        { ...watch, forward: external?.forward },
      ),
    );
  }
}
