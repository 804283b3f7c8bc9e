// SPDX-License-Identifier: MIT
// The data-set lab's points and rows: generated digits, estimated by the package in all free workers, or rows of a file.
import type { Labels, Model, Probust, Row } from 'probust';
import { takeProbust, type Lease } from 'probust/page';
import digitsUrl from '../../../models/digits.onnx?url';
import { isAborted } from '../../engine/latest.js';
import type { State } from '../../state/state.js';
import { bytesOf } from '../lab-session.js';

/** A point of the scatter plot. */
export interface Item {
  row: Row;
  /** The largest softmax probability; null if the file has none. */
  softmax: number | null;
}

export interface Data {
  items: Item[];
  /** The rows of p, for summaries. */
  rows: Row[];
  /** Pixels of all points, one after another, and the shape of one; undefined for rows of a file. */
  x: Float32Array | undefined;
  pointShape: number[];
  /** How p was estimated, and of what. */
  about: string;
  /** Rows of the network that is compared, of the same points. */
  compared: { name: string; rows: Row[] } | undefined;
}

/** Points of a file. */
interface OwnPoints {
  name: string;
  x: Float32Array;
  labels: Labels | undefined;
  pointShape: number[];
}

export interface Progress {
  done: number;
  planned: number;
}

export interface DatasetCallbacks {
  changed(): void;
  /** How work ended: with an error, or null. */
  settled(error: unknown): void;
}

/** Digits that the network was not trained on: its training script uses the seeds 0 and 1. */
const digitSeed = 500;
const mostWorkers = 8;
/** Copies of each selected point, to see which classes take over. */
const takeoverCopies = 'mc:200';

type Asked = Readonly<Pick<State, 'dataCount' | 'dataSigma' | 'dataSeed'>>;

export const noiseOf = ({ dataSigma }: Asked): string => `gaussian:${dataSigma}`;

/** p and softmax of each point, from rows of both estimators. */
export function itemsOf(all: readonly Row[]): { items: Item[]; rows: Row[] } {
  const isSoftmax = ({ estimator }: Row) => estimator.startsWith('softmax');
  const first = all.find((row) => !isSoftmax(row));
  const rows = all.filter((row) => first && row.estimator === first.estimator && row.noise === first.noise);
  const softmax = new Map(all.filter(isSoftmax).map((row) => [row.index, row.p]));
  return { rows, items: rows.map((row) => ({ row, softmax: softmax.get(row.index) ?? null })) };
}

export class DatasetSession {
  data: Data | undefined;
  progress: Progress | undefined;
  #lease: Lease | undefined;
  #model: Promise<Model> | undefined;
  #second: { name: string; model: Model } | undefined;
  /** Points of a file; undefined for generated digits. */
  #points: OwnPoints | undefined;
  #controller = new AbortController();
  #key = '';
  /** Changes with the networks and points that the state does not name. */
  #version = 0;

  constructor(private readonly callbacks: DatasetCallbacks) {}

  /** Generates and estimates, unless that is what is there already. */
  ask(asked: Asked): void {
    const key = [asked.dataCount, asked.dataSigma, asked.dataSeed, this.#version].join(' ');
    if (key === this.#key) return;
    this.#key = key;
    this.#begin((signal) => this.#estimate(asked, signal));
  }

  /** Shows rows that were computed before. */
  open(file: File): void {
    this.#key = '';
    this.#begin(async () => {
      const { readRows } = await import('probust/data');
      const all = await readRows(file);
      const { items, rows } = itemsOf(all);
      const { estimator, noise } = rows[0] ?? {};
      this.data = {
        items,
        rows,
        x: undefined,
        pointShape: [],
        about: `${file.name}: ${estimator}, ${noise}`,
        compared: undefined,
      };
    });
  }

  /** Estimates the points of a data file. */
  openPoints(file: File, asked: Asked): void {
    this.#begin(async (signal) => {
      const { readData } = await import('probust/data');
      const { x, labels, pointShape } = await readData(file, { limit: asked.dataCount, signal });
      const shape = pointShape.length > 1 ? pointShape : [...(await this.#loaded()).info.pointShape];
      this.#points = { name: file.name, x, labels, pointShape: shape };
      this.#version += 1;
      this.#key = '';
      await this.#estimate(asked, signal);
    });
  }

  /** Uses another network, which takes the same points, or compares it. */
  openModel(file: File, asked: Asked, role: 'first' | 'second'): void {
    this.#begin(async (signal) => {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const model = await (await this.#probust()).loadModel(bytes);
      if (signal.aborted) return model.dispose();
      if (role === 'first') this.#model = Promise.resolve(model);
      else this.#second = { name: file.name, model };
      this.#version += 1;
      await this.#estimate(asked, signal).catch((error: unknown) => {
        // One that does not fit must not stand in the way of everything else.
        if (this.#second?.model === model) this.#second = undefined;
        throw error;
      });
    });
  }

  /** Shows generated digits and the built-in network again. */
  reset(asked: Asked): void {
    this.#points = this.#model = this.#second = undefined;
    this.#version += 1;
    this.ask(asked);
  }

  get own(): boolean {
    return this.#version > 0 && (this.#points !== undefined || this.#second !== undefined || this.#model !== undefined);
  }

  cancel(): void {
    this.#controller.abort();
    this.progress = undefined;
    this.#key = '';
    this.callbacks.changed();
  }

  dispose(): void {
    this.#controller.abort();
    this.#lease?.release();
    this.#lease = this.#model = undefined;
  }

  /** For each row of the points: the class that most noisy copies get instead; null if none does. */
  async takeovers(rows: readonly Row[], asked: Asked): Promise<Map<number, number | null>> {
    const { x, pointShape } = this.data!;
    if (!x || rows.length === 0) return new Map();
    const size = pointShape.reduce((all, each) => all * each, 1);
    const model = await this.#loaded();
    const found = new Map<number, number | null>();
    for (const row of rows) {
      const point = x.slice(row.index * size, (row.index + 1) * size);
      const given = { noise: noiseOf(asked), estimators: takeoverCopies, perClass: true, index: row.index };
      const [counted] = await model.estimate(point, given);
      const votes = (counted!.classes ?? []).map((share, of) => ({ share: share ?? 0, of }));
      const rival = votes.filter(({ of }) => of !== row.target).sort((a, b) => b.share - a.share)[0];
      found.set(row.index, rival && rival.share > 0 ? rival.of : null);
    }
    return found;
  }

  async #probust(): Promise<Probust> {
    return (this.#lease ??= takeProbust('patient', mostWorkers)).probust;
  }

  async #loaded(): Promise<Model> {
    this.#model ??= (async () => {
      const [probust, bytes] = await Promise.all([this.#probust(), bytesOf(digitsUrl, new AbortController().signal)]);
      return probust.loadModel(bytes);
    })();
    return this.#model;
  }

  async #given(asked: Asked, signal: AbortSignal): Promise<OwnPoints> {
    if (this.#points) return this.#points;
    const probust = await this.#probust();
    const made = await probust.data.digits({ count: asked.dataCount, seed: digitSeed + asked.dataSeed, signal });
    return { name: 'generated digits', x: made.x, labels: Array.from(made.labels), pointShape: made.pointShape };
  }

  async #estimate(asked: Asked, signal: AbortSignal): Promise<void> {
    const [model, { name, x, labels, pointShape }] = await Promise.all([this.#loaded(), this.#given(asked, signal)]);
    const options = { noise: noiseOf(asked), ...(labels && { labels }), seed: asked.dataSeed, signal };
    const all = await model.estimate(x, {
      ...options,
      estimators: ['auto', 'softmax:1'],
      onProgress: ({ passes, planned }) => {
        if (signal.aborted) return;
        this.progress = { done: passes, planned };
        this.callbacks.changed();
      },
    });
    const second = this.#second;
    const compared = second && { name: second.name, rows: await second.model.estimate(x, options) };
    if (signal.aborted) return;
    const { items, rows } = itemsOf(all);
    this.data = { items, rows, x, pointShape, about: `${rows.length} points, ${name}, auto, ${noiseOf(asked)}`, compared };
  }

  #begin(work: (signal: AbortSignal) => Promise<void>): void {
    this.#controller.abort();
    const { signal } = (this.#controller = new AbortController());
    this.progress = { done: 0, planned: 0 };
    this.callbacks.changed();
    work(signal).then(
      () => {
        if (signal.aborted) return;
        this.#end(signal);
        this.callbacks.settled(null);
      },
      (error: unknown) => {
        if (isAborted(error) || signal.aborted) return;
        this.#key = '';
        this.#end(signal);
        this.callbacks.settled(error);
      },
    );
  }

  #end(signal: AbortSignal): void {
    if (signal.aborted) return;
    this.progress = undefined;
    this.callbacks.changed();
  }
}
