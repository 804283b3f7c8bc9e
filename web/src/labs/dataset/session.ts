// SPDX-License-Identifier: MIT
// The rows that the data-set lab shows: either computed by the package in all free workers, or read from a file.
import type { Model, Probust, Row } from 'probust';
import type { Bias, Ranking } from 'probust/analysis';
import { takeProbust, type Lease } from 'probust/page';
import { isAborted } from '../../engine/latest.js';
import { sources, type Asked, type Points } from './sources.js';

/** A point of the scatter plot. */
export interface Item {
  row: Row;
  /** The largest softmax probability; null if the file does not contain it. */
  softmax: number | null;
}

export interface Data {
  items: Item[];
  /** The rows with p (not those with softmax), for summaries. */
  rows: Row[];
  /** The points; undefined for rows of a file. */
  points: Points | undefined;
  /** Names of the classes, if they have any. */
  classNames: string[] | undefined;
  /** A description of the points and of how p was estimated. */
  about: string;
  /** The settings with which these results were computed; undefined for rows of a file. */
  settings: string | undefined;
  /** The mean p of each class. */
  bias: Bias;
  /** The least and the most robust points. */
  ranking: Ranking;
  /** Rows of the compared network for the same points. */
  compared: { name: string; rows: Row[] } | undefined;
  /** Warnings that points, labels and networks may not match. */
  warnings: string[];
}

export interface Progress {
  done: number;
  planned: number;
}

export interface DatasetCallbacks {
  changed(): void;
  /** Called when work ends, with an error or null. */
  settled(error: unknown): void;
}

const mostWorkers = 8;
/** The number of noisy samples per selected point, which show the classes of failing samples. */
export const takeoverCopies = 200;
/** Points at each end of the ranking. */
const rankedCount = 6;

const settingsOf = ({ dataSource, dataCount, dataSigma, dataSeed }: Asked): string =>
  [dataSource, dataCount, dataSigma, dataSeed].join(' ');

const noiseOf = ({ dataSigma }: Asked): string => `gaussian:${dataSigma}`;

/** A noise such as "gaussian:0.3" in words. */
const noiseWords = (noise: string): string => {
  const [kind, sigma] = noise.split(':');
  return kind === 'gaussian' && Number(sigma) > 0 ? `Gaussian noise of sigma ${sigma}` : `the noise ${noise}`;
};

/** How p was computed. The number in the canonical text of `auto` is omitted. */
const howOf = ({ estimator, noise }: Row): string => `p by ${estimator.replace(/^auto:.*/, 'auto')} with ${noiseWords(noise)}`;

/** p and softmax of each point, from the rows of both estimators. */
export function itemsOf(all: readonly Row[]): { items: Item[]; rows: Row[] } {
  const isSoftmax = ({ estimator }: Row) => estimator.startsWith('softmax');
  const first = all.find((row) => !isSoftmax(row));
  const rows = all.filter((row) => first && row.estimator === first.estimator && row.noise === first.noise);
  const softmax = new Map(all.filter(isSoftmax).map((row) => [row.index, row.p]));
  return { rows, items: rows.map((row) => ({ row, softmax: softmax.get(row.index) ?? null })) };
}

/** What a data file holds: a run, rows exported from one, or points. */
export type Content = 'run' | 'rows' | 'points';

/** The content of a data file, recognised by its beginning and its name. */
export async function contentOf(file: File): Promise<Content> {
  const head = await file.slice(0, 400).text();
  if (head.startsWith('SQLite format 3')) return 'run';
  const table = /\.csv$/i.test(file.name) && /(^|,)estimator(,|$)/.test(head.split('\n')[0]!);
  return table || /\.jsonl$/i.test(file.name) ? 'rows' : 'points';
}

/** Loads the reader of runs when the first run is opened. */
async function rowsOf(file: File, content: Content): Promise<Row[]> {
  if (content === 'run') return (await import('./runs.js')).readRun(file);
  return (await import('probust/data')).readRows(file);
}

export class DatasetSession {
  data: Data | undefined;
  /** Undefined if no work is in progress; initially defined, because the lab starts its first request immediately. */
  progress: Progress | undefined = { done: 0, planned: 0 };
  #lease: Lease | undefined;
  /** The networks of the sources that were used so far, and one from a file. */
  readonly #models = new Map<string, Promise<Model>>();
  #second: { name: string; model: Model } | undefined;
  /** Points from a file, which replace the source's. */
  #points: Points | undefined;
  #controller = new AbortController();
  #key = '';
  /** A counter of changes outside the state: new networks and points from files. */
  #version = 0;

  constructor(private readonly callbacks: DatasetCallbacks) {}

  /** Generates and estimates the points, unless the results already exist. */
  ask(asked: Asked): void {
    const key = `${settingsOf(asked)} ${this.#version}`;
    if (key === this.#key) return;
    this.#key = key;
    this.#begin((signal) => this.#estimate(asked, signal));
  }

  /** Shows rows that were computed before. */
  open(file: File, content: Content): void {
    this.#key = '';
    this.#begin(async (signal) => {
      const found = itemsOf(await rowsOf(file, content));
      if (!found.rows[0]) throw new Error(`${file.name} has no estimates of p.`);
      const about = `${found.rows.length.toLocaleString('en')} points of ${file.name}: ${howOf(found.rows[0])}`;
      const analysed = await this.#analysed(found.rows);
      if (signal.aborted) return;
      this.data = {
        ...{ ...found, ...analysed, about },
        ...{ points: undefined, classNames: undefined, settings: undefined, compared: undefined, warnings: [] },
      };
    });
  }

  /** Estimates the points of a data file. */
  openPoints(file: File, asked: Asked): void {
    this.#begin(async (signal) => {
      const { readData } = await import('probust/data');
      const { x, labels, pointShape } = await readData(file, { limit: asked.dataCount, signal });
      const shape = pointShape.length > 1 ? pointShape : [...(await this.#loaded(asked)).info.pointShape];
      this.#points = { noun: `points of ${file.name}`, x, labels, pointShape: shape };
      this.#version += 1;
      this.#key = '';
      await this.#estimate(asked, signal);
    });
  }

  /** Opens a network for the same points: as the first network, or as a second one to compare with it. */
  openModel(file: File, asked: Asked, role: 'first' | 'second'): void {
    this.#begin(async (signal) => {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const model = await (await this.#probust()).loadModel(bytes);
      if (signal.aborted) return model.dispose();
      if (role === 'first') this.#models.set('own', Promise.resolve(model));
      else this.#second = { name: file.name, model };
      this.#version += 1;
      await this.#estimate(asked, signal).catch((error: unknown) => {
        // A second network that does not fit the points must not make every later estimate fail.
        if (this.#second?.model === model) this.#second = undefined;
        throw error;
      });
    });
  }

  /** Shows the source's points and network again. */
  reset(asked: Asked): void {
    this.#points = this.#second = undefined;
    this.#models.delete('own');
    this.#version += 1;
    this.ask(asked);
  }

  get own(): boolean {
    return this.#points !== undefined || this.#second !== undefined || this.#models.has('own');
  }

  /** Whether the data do not match the settings yet. */
  isStale(asked: Asked): boolean {
    const settings = this.data?.settings ?? settingsOf(asked);
    return this.progress !== undefined || settings !== settingsOf(asked);
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
    this.#lease = undefined;
    this.#models.clear();
  }

  /** For each row: the class that most of its failing samples get; null if none fails. */
  async takeovers(rows: readonly Row[], asked: Asked): Promise<Map<number, number | null>> {
    const { points } = this.data!;
    if (!points || rows.length === 0) return new Map();
    const { x, pointShape } = points;
    const size = pointShape.reduce((all, each) => all * each, 1);
    const model = await this.#loaded(asked);
    const found = new Map<number, number | null>();
    for (const row of rows) {
      const point = x.slice(row.index * size, (row.index + 1) * size);
      const given = { noise: noiseOf(asked), estimators: `mc:${takeoverCopies}`, perClass: true, index: row.index };
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

  async #loaded({ dataSource }: Asked): Promise<Model> {
    const own = this.#models.get('own');
    if (own) return own;
    const load = async () => {
      const [probust, bytes] = await Promise.all([this.#probust(), sources[dataSource].network(new AbortController().signal)]);
      return probust.loadModel(bytes);
    };
    const model = this.#models.get(dataSource) ?? load();
    this.#models.set(dataSource, model);
    // The next request tries again.
    model.catch(() => this.#models.delete(dataSource));
    return model;
  }

  async #estimate(asked: Asked, signal: AbortSignal): Promise<void> {
    const source = sources[asked.dataSource];
    const given = async () => this.#points ?? source.points(asked, await this.#probust(), signal);
    const [model, points] = await Promise.all([this.#loaded(asked), given()]);
    const { noun, x, labels } = points;
    const options = { noise: noiseOf(asked), ...(labels && { labels }), seed: asked.dataSeed, signal };
    const warnings: string[] = [];
    const all = await model.estimate(x, {
      ...options,
      onWarning: (warning) => warnings.push(warning),
      estimators: ['auto', 'softmax:1'],
      onProgress: ({ passes, planned }) => {
        if (signal.aborted) return;
        this.progress = { done: passes, planned };
        this.callbacks.changed();
      },
    });
    const second = this.#second;
    const onWarning = (warning: string) => warnings.push(`${second?.name}: ${warning}`);
    const compared = second && { name: second.name, rows: await second.model.estimate(x, { ...options, onWarning }) };
    const found = itemsOf(all);
    const analysed = await this.#analysed(found.rows);
    if (signal.aborted) return;
    const classNames = this.#models.has('own') ? undefined : source.classNames;
    const about = `${found.rows.length.toLocaleString('en')} ${noun}; ${howOf(found.rows[0]!)}`;
    this.data = { ...found, ...analysed, points, classNames, about, settings: settingsOf(asked), compared, warnings };
  }

  async #analysed(rows: readonly Row[]): Promise<Pick<Data, 'bias' | 'ranking'>> {
    const [probust, { bias, rank }] = await Promise.all([this.#probust(), import('probust/analysis')]);
    const [biases, rankings] = await Promise.all([bias(probust, rows), rank(probust, rows, { count: rankedCount })]);
    return { bias: biases[0]!, ranking: rankings[0]! };
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
