// SPDX-License-Identifier: MIT
// Generates data, and trains networks. Each network is trained in one engine.
import { withController } from './abort.js';
import { callNames, divided, holding, optionsOf, type Names } from './arguments.js';
import { dispose } from './dispose.js';
import { disposed, usage } from './errors.js';
import type { Model } from './model.js';
import type { OneOf, Pool } from './pool.js';
import type { Watch } from './protocol.js';
import type {
  Dataset,
  DataOptions,
  LabelledPoints,
  PictureOptions,
  RunOptions,
  Score,
  TrainingRates,
  TrainOptions,
} from './types.js';

const pictureNames: Names<PictureOptions> = { ...callNames, count: true, classes: true, noise: true, seed: true, side: true };
const rateNames: Names<TrainingRates> = { rate: true, sigma: true, lambda: true, robustSigma: true, decay: true };
const runNames: Names<RunOptions> = { ...rateNames, ...callNames };
const trainNames: Names<TrainOptions> = {
  ...rateNames,
  ...{ model: true, hidden: true, activation: true, optimizer: true, batch: true, seed: true, memory: true },
};

/**
 * Data generated from a seed. Point i has class i modulo the number of classes. The data are the same on every machine. All
 * methods reject with a ProbustError: `usage` for an invalid count, noise, side or number of classes, `resources` for too many
 * points.
 */
export class Data {
  readonly #pool: Pool;

  /** @internal */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Two interleaved half circles; noise 0.1 by default. */
  moons(options?: DataOptions): Promise<Dataset> {
    return this.#make('moons', options);
  }

  /** Normal clouds around 2 to 6 points (3 by default) on the unit circle; noise 0.25 by default. */
  blobs(options?: DataOptions): Promise<Dataset> {
    return this.#make('blobs', options);
  }

  /** 2 to 6 spiral arms (2 by default), each making one turn around the origin; noise 0.03 by default. */
  spirals(options?: DataOptions): Promise<Dataset> {
    return this.#make('spirals', options);
  }

  /** A square in which diagonally opposite quadrants have the same class; noise 0.05 by default. */
  xor(options?: DataOptions): Promise<Dataset> {
    return this.#make('xor', options);
  }

  /** 2 to 6 circles (2 by default) around the origin; noise 0.05 by default. */
  rings(options?: DataOptions): Promise<Dataset> {
    return this.#make('rings', options);
  }

  /** The ten digits drawn with strokes, 28 x 28 pixels (or `side` squared) in [0, 1], bright on dark; noise 0.05 by default. */
  digits(options?: PictureOptions): Promise<Dataset> {
    return this.#make('digits', options);
  }

  async #make(kind: string, options: PictureOptions = {}): Promise<Dataset> {
    const { args, watch } = divided(optionsOf(kind, options, pictureNames));
    return this.#pool.ask<'data'>(() => ({ kind: 'data', args: { ...args, kind } }), watch);
  }
}

/**
 * What is needed to release a network in training. It does not refer to the Training, so that the registry does not keep the
 * Training alive.
 */
interface Lease {
  pool: Pool;
  place: OneOf;
}

const forgotten = new FinalizationRegistry<Lease>(({ pool, place }) => pool.releaseOne(place));

/**
 * A network in training. It is deterministic: the same data, options and runs produce the same network. Methods reject with a
 * ProbustError: `usage` for invalid options or a run during another run; `numerical` if the loss is no longer finite; `aborted`;
 * `disposed`.
 */
export class Training {
  readonly #lease: Lease;
  readonly #rates: TrainingRates;
  readonly #load: (onnx: Uint8Array) => Promise<Model>;
  #running: AbortController | undefined;
  #disposed = false;

  /** @internal */
  constructor(pool: Pool, place: OneOf, rates: TrainingRates, load: (onnx: Uint8Array) => Promise<Model>) {
    this.#lease = { pool, place };
    this.#rates = rates;
    this.#load = load;
    forgotten.register(this, this.#lease, this);
  }

  /**
   * Trains for `epochs` more epochs, then computes loss and accuracy on all points, without noise. Missing options have the
   * values given to `train`. An aborted run keeps its completed steps.
   */
  async run(epochs = 1, options: RunOptions = {}): Promise<Score> {
    this.#live();
    if (this.#running) throw usage('another run of this training has not finished', 'await it first');
    const { signal, onProgress, ...given } = optionsOf('run', options, runNames);
    const { rate, sigma, lambda, robustSigma, decay } = this.#rates;
    const args = {
      epochs,
      rate: given.rate ?? rate,
      sigma: given.sigma ?? sigma,
      lambda: given.lambda ?? lambda,
      robustSigma: given.robustSigma ?? robustSigma,
      decay: given.decay ?? decay,
    };
    return withController(signal, async (controller) => {
      this.#running = controller;
      try {
        return (await this.#ask('run', args, { signal: controller.signal, onProgress })) as Score;
      } catch (error) {
        throw this.#disposed ? disposed('the training') : error;
      } finally {
        this.#running = undefined;
      }
    });
  }

  /** The current network as the bytes of an ONNX model: input "x" [batch, ...pointShape], output "logits" [batch, classes]. */
  async save(): Promise<Uint8Array> {
    this.#live();
    return (await this.#ask('save', {}, {})) as Uint8Array;
  }

  /** The current network as a model, which further training does not change. */
  async model(): Promise<Model> {
    return this.#load(await this.save());
  }

  /** Stops the current run, if any, and frees the memory; later calls reject with code `disposed`. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#running?.abort();
    forgotten.unregister(this);
    this.#lease.pool.releaseOne(this.#lease.place);
  }

  [dispose](): void {
    this.dispose();
  }

  #live(): void {
    if (this.#disposed) throw disposed('the training');
  }

  #ask(operation: string, args: object, watch: Watch): Promise<unknown> {
    const { engine, id } = this.#lease.place;
    return holding(this, () =>
      this.#lease.pool.askOne<'training'>(engine, { kind: 'training', training: id, operation, args }, watch),
    );
  }
}

/** Creates a network to train, in the least busy engine. */
export async function begin(
  pool: Pool,
  data: LabelledPoints,
  options: TrainOptions,
  load: (onnx: Uint8Array) => Promise<Model>,
): Promise<Training> {
  const given = optionsOf('train', options, trainNames);
  if (typeof data !== 'object' || data === null) throw usage('the data for train are missing', 'give { x, labels }');
  const { rate, sigma, lambda, robustSigma, decay } = given;
  const { x, labels, classes, pointShape } = data;
  const place = await pool.train({ ...given, x, labels, classes, pointShape });
  return new Training(pool, place, { rate, sigma, lambda, robustSigma, decay }, load);
}
