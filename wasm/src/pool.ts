// SPDX-License-Identifier: MIT
// One or several engines with the same models. A call goes to the least busy engine; an estimate is distributed among all
// engines.
import { withController } from './abort.js';
import { copied } from './arguments.js';
import type { Endpoint, Kind, ReplyOf, RequestOf, Watch } from './protocol.js';
import type { ModelInfo, Progress, Row } from './types.js';

/** A model that is loaded in every engine: its handle in each. */
export type Everywhere = readonly number[];

/** Something that exists in only one engine: that engine, and the handle there. */
export interface OneOf {
  engine: number;
  id: number;
}

/** Arguments of an estimate, in a form that can be divided. */
export interface EstimateArguments {
  x: Float32Array;
  estimators: readonly string[];
  noise: readonly string[];
  index: number;
  target?: readonly number[] | undefined;
  labels?: readonly number[] | undefined;
  budget?: number | undefined;
  independent?: boolean | undefined;
  share?: string | undefined;
  smooth?: boolean | undefined;
  totalBudget?: number | undefined;
  calibrate?: boolean | undefined;
  /** Whether other parts of the estimate use other estimators. */
  others?: boolean;
  /**
   * The smallest and the largest value of all points, if x has only some of the points. They determine how perturbations are
   * clipped.
   */
  dataRange?: readonly [number, number];
  /** All points, if x has only some of the points and the noise depends on the data. */
  data?: Float32Array;
}

/** Noise whose samples depend on all points (NoiseShape::needs_data in the core). */
const dependsOnData = /(^|\+)(data-covariance|resample|missing):/;

/** A part of an estimate: points first .. first + count - 1, and one estimator. */
interface Part {
  first: number;
  count: number;
  estimator: number;
}

/** Adds up the progress of several calls. */
function total(onProgress: ((progress: Progress) => void) | undefined): () => ((progress: Progress) => void) | undefined {
  const parts: Progress[] = [];
  return () => {
    if (!onProgress) return undefined;
    const part: Progress = { passes: 0, planned: 0 };
    parts.push(part);
    return (progress) => {
      Object.assign(part, progress);
      const sum = { passes: 0, planned: 0 };
      for (const { passes, planned } of parts) {
        sum.passes += passes;
        sum.planned += planned;
      }
      onProgress(sum);
    };
  };
}

export class Pool {
  readonly #endpoints: readonly Endpoint[];
  readonly #load: number[];

  constructor(endpoints: readonly Endpoint[]) {
    this.#endpoints = endpoints;
    this.#load = endpoints.map(() => 0);
  }

  get size(): number {
    return this.#endpoints.length;
  }

  /** Sends a request to the least busy engine. */
  async ask<K extends Kind>(request: (engine: number) => RequestOf<K>, watch: Watch = {}): Promise<ReplyOf<K>> {
    const engine = this.#idlest();
    return this.askOne<K>(engine, request(engine), watch);
  }

  /** Sends a request to a given engine. */
  async askOne<K extends Kind>(engine: number, request: RequestOf<K>, watch: Watch = {}): Promise<ReplyOf<K>> {
    this.#load[engine]! += 1;
    try {
      return await this.#endpoints[engine]!.send<K>(request, watch);
    } finally {
      this.#load[engine]! -= 1;
    }
  }

  /** Creates a network to train, in the least busy engine. */
  async train(args: object): Promise<OneOf> {
    const engine = this.#idlest();
    return { engine, id: await this.askOne<'train'>(engine, { kind: 'train', args }) };
  }

  async load(bytes: Uint8Array, options: object, external = false): Promise<{ model: Everywhere; info: ModelInfo }> {
    const loaded = await Promise.all(this.#endpoints.map((to) => to.send<'load'>({ kind: 'load', bytes, options, external })));
    return { model: loaded.map(({ model }) => model), info: loaded[0]!.info };
  }

  release(model: Everywhere): void {
    model.forEach((id, engine) => this.releaseOne({ engine, id }));
  }

  releaseOne({ engine, id }: OneOf): void {
    // A closed engine has already released everything.
    void this.#endpoints[engine]!.send<'release'>({ kind: 'release', handle: id }).catch(() => undefined);
  }

  close(): void {
    for (const endpoint of this.#endpoints) endpoint.close();
  }

  #idlest(): number {
    return this.#load.indexOf(Math.min(...this.#load));
  }

  call(model: Everywhere, operation: string, args: object, watch: Watch): Promise<unknown> {
    return this.ask<'call'>((engine) => ({ kind: 'call', model: model[engine]!, operation, args }), watch);
  }

  /** The rows of one call, computed by all engines. */
  async estimate(model: Everywhere, elements: number, args: EstimateArguments, watch: Watch): Promise<Row[]> {
    const points = args.x.length / elements;
    const oneEach = (list: readonly number[] | undefined) => list === undefined || list.length === points;
    const whole = args.totalBudget != null || args.calibrate;
    const divisible = !whole && Number.isInteger(points) && oneEach(args.target) && oneEach(args.labels);
    if (this.size === 1 || !divisible) return (await this.call(model, 'estimate', args, watch)) as Row[];
    const { budget, independent, share, ...own } = copied(args); // the caller may change the original
    const { estimators, smooth, index } = own;
    const asked = { estimators, budget, independent, share, smooth };
    const together = await this.ask<'together'>(() => ({ kind: 'together', args: asked }));
    own.estimators = together.estimators;
    own.dataRange = rangeOf(own.x);
    const noise: readonly string[] | undefined = own.noise; // the module reports missing noise
    if (noise?.some((text) => dependsOnData.test(text))) own.data = own.x;
    const parts = divide(points, index, together.points, own.estimators.length);
    const rows = await this.#rowsOf(parts, model, (part) => partOf(own, part, elements), watch);
    return inOrder(parts, rows, points, own);
  }

  /** The rows of each part. If one fails, the others are aborted. */
  #rowsOf(parts: readonly Part[], model: Everywhere, argsOf: (part: Part) => EstimateArguments, watch: Watch): Promise<Row[][]> {
    const report = total(watch.onProgress);
    return withController(watch.signal, async (controller) => {
      const rows: Row[][] = [];
      const queue = parts.map((part, i) => ({ part, i }));
      const work = async () => {
        for (let next = queue.shift(); next; next = queue.shift()) {
          const own = { ...watch, signal: controller.signal, onProgress: report() };
          rows[next.i] = (await this.call(model, 'estimate', argsOf(next.part), own)) as Row[];
        }
      };
      try {
        await Promise.all(Array.from({ length: this.size }, work));
        return rows;
      } finally {
        controller.abort();
      }
    });
  }
}

function rangeOf(values: Float32Array): [number, number] {
  let [lowest, highest] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < lowest) lowest = value;
    if (value > highest) highest = value;
  }
  return [lowest, highest];
}

/**
 * Divides an estimate into parts, each with one estimator and at most `together` points. Blocks of `together` points begin at
 * the first point of the data, and each part lies within one block. `index` is the position of the estimate's first point in
 * the data.
 */
function divide(points: number, index: number, together: number, estimators: number): Part[] {
  const parts: Part[] = [];
  for (let first = 0, count = 0; first < points; first += count) {
    count = Math.min(together - ((index + first) % together), points - first);
    for (let estimator = 0; estimator < estimators; ++estimator) parts.push({ first, count, estimator });
  }
  return parts;
}

function partOf(args: EstimateArguments, { first, count, estimator }: Part, elements: number): EstimateArguments {
  return {
    ...args,
    x: args.x.slice(first * elements, (first + count) * elements),
    estimators: [args.estimators[estimator]!],
    index: args.index + first,
    target: args.target?.slice(first, first + count),
    labels: args.labels?.slice(first, first + count),
    others: args.estimators.length > 1,
  };
}

/** Rows ordered by point, then noise, then estimator. */
function inOrder(parts: readonly Part[], rows: readonly Row[][], points: number, args: EstimateArguments): Row[] {
  const noises = args.noise.length;
  const estimators = args.estimators.length;
  const all = new Array<Row>(points * noises * estimators);
  parts.forEach(({ first, estimator }, part) => {
    rows[part]!.forEach((row, k) => {
      const point = first + Math.floor(k / noises);
      all[(point * noises + (k % noises)) * estimators + estimator] = row;
    });
  });
  return all;
}
