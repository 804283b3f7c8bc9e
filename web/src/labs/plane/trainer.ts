// SPDX-License-Identifier: MIT
// Trains a small network on the data set, in the patient worker. Training is deterministic, so the network of a shared state can
// be trained again.
import type { Dataset, LabelledPoints, Score, Training } from 'probust';
import type { Engine } from '../../engine/engine.js';
import { isAborted } from '../../engine/latest.js';
import type { State } from '../../state/state.js';
import { pretrained } from './models.js';

interface TrainerCallbacks {
  /** Called with each new network: its ONNX bytes and its score. */
  trained(bytes: Uint8Array, score: Score): Promise<void>;
  progress(done: number, planned: number): void;
  /** Called when training starts or ends, or when the data change. */
  changed(): void;
  /** Called when training ends, with or without an error. */
  settled(error?: unknown): void;
}

const pointCount = 300;
/** Duration of one turn of the loop: short enough to pause instantly. */
const turnMilliseconds = 30;
/** The largest number of epochs per frame, so that progress is visible. */
const fastest = 2;

/** A key of those settings whose change discards the weights. */
const setting = ({ data, classes, points, hidden, activation, trainSeed }: Readonly<State>) =>
  JSON.stringify([data, classes, data === 'own' ? points : [], hidden, activation, trainSeed]);

function ownPoints(points: readonly number[]): LabelledPoints {
  const rows = Array.from({ length: Math.floor(points.length / 3) }, (_, i) => points.slice(3 * i, 3 * i + 3));
  return { x: Float32Array.from(rows.flatMap(([x, y]) => [x!, y!])), labels: Int32Array.from(rows, ([, , label]) => label!) };
}

const trainable = ({ data, points }: Readonly<State>): boolean =>
  data !== 'own' || new Set(points.filter((_, i) => i % 3 === 2)).size > 1;

/** Whether the data set can have different numbers of classes. */
export const hasClassChoice = (data: State['data']): boolean => data === 'blobs' || data === 'spirals' || data === 'rings';

export class Trainer {
  data: LabelledPoints | undefined;
  score: Score | undefined;
  playing = false;
  #training: Training | undefined;
  #setting = '';
  #controller: AbortController | undefined;
  #dataOf = '';
  #work: Promise<void> = Promise.resolve();

  constructor(
    private readonly engine: Engine,
    private readonly state: () => Readonly<State>,
    private readonly callbacks: TrainerCallbacks,
  ) {}

  /** Generates the data and displays them, without training. */
  showData(): void {
    this.#showData().catch((error: unknown) => isAborted(error) || this.callbacks.settled(error));
  }

  async #showData(): Promise<void> {
    const { model } = this.state();
    const state = { ...this.state(), ...pretrained[model]?.data };
    const known = model === 'trained' || model in pretrained;
    const of = JSON.stringify([known, state.data, state.classes, state.trainSeed, state.data === 'own' ? state.points : []]);
    if (of === this.#dataOf) return;
    this.#dataOf = of;
    // The training data of other networks are unknown.
    const data = known ? await this.#make(state) : undefined;
    if (of !== this.#dataOf) return;
    this.data = data;
    this.callbacks.changed();
  }

  /** Trains until paused. */
  play(): void {
    if (!trainable(this.state())) return this.callbacks.settled(new Error('Add points of two classes first.'));
    void this.#loop(Infinity);
  }

  pause(): void {
    this.#controller?.abort();
  }

  /** Trains for one epoch. */
  step(): void {
    if (!this.playing) void this.#loop(1);
  }

  /** Trains from new weights to the epoch in the state, in one run. */
  restore(): void {
    if (!trainable(this.state())) return this.#clear();
    void this.#attempt(async (signal) => {
      this.#release();
      const { epochs } = this.state();
      const training = await this.#begin();
      const onProgress = ({ passes, planned }: { passes: number; planned: number }) => this.callbacks.progress(passes, planned);
      const score = await training.run(epochs, { ...this.#rates(), signal, onProgress });
      await this.#show(training, score);
    });
  }

  /** Called if there are no data to train on. The network on screen remains. */
  #clear(): void {
    this.pause();
    this.score = undefined;
    this.showData();
  }

  dispose(): void {
    this.pause();
    this.#release();
  }

  async #loop(epochs: number): Promise<void> {
    await this.#attempt(async (signal) => {
      const training = await this.#begin();
      let chunk = 1;
      for (let done = 0; done < epochs && !signal.aborted; done += chunk) {
        const before = performance.now();
        const score = await training.run(Math.min(chunk, epochs - done), { ...this.#rates(), signal });
        const took = performance.now() - before;
        if (epochs === Infinity) chunk = Math.max(1, Math.min(fastest, Math.round((chunk * turnMilliseconds) / took)));
        await this.#show(training, score);
        await new Promise(requestAnimationFrame);
      }
    });
  }

  /** Runs one job at a time: aborts the previous one first. Reports errors other than aborts. */
  async #attempt(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#controller?.abort();
    const controller = (this.#controller = new AbortController());
    const before = this.#work;
    let done = () => undefined as void;
    this.#work = new Promise((resolve) => (done = resolve));
    this.playing = true;
    this.callbacks.changed();
    try {
      await before;
      if (!controller.signal.aborted) await work(controller.signal);
      this.callbacks.settled();
    } catch (error) {
      if (!isAborted(error)) this.callbacks.settled(error);
    }
    done();
    if (this.#controller !== controller) return;
    this.playing = false;
    this.callbacks.changed();
  }

  async #show(training: Training, score: Score): Promise<void> {
    const bytes = await training.save();
    if (training !== this.#training) return;
    this.score = score;
    await this.callbacks.trained(bytes, score);
  }

  /** The current training, or a new one if the setting has changed. */
  async #begin(): Promise<Training> {
    const state = this.state();
    if (this.#training && this.#setting === setting(state)) return this.#training;
    this.#release();
    this.#setting = setting(state);
    const probust = await this.engine.probust('patient');
    await this.#showData();
    const data = this.data!;
    const { hidden, activation, trainSeed } = state;
    const training = await probust.train(data, { hidden, activation, seed: trainSeed, rate: 0.01, batch: 32 });
    this.#training = training;
    return training;
  }

  async #make(state: Readonly<State>): Promise<Dataset | LabelledPoints> {
    if (state.data === 'own') return ownPoints(state.points);
    const probust = await this.engine.probust('patient');
    return probust.data[state.data]({
      count: pointCount,
      seed: state.trainSeed,
      ...(hasClassChoice(state.data) && { classes: state.classes }),
    });
  }

  #rates() {
    const { lambda, augmentation } = this.state();
    return { lambda, sigma: augmentation };
  }

  #release(): void {
    this.#training?.dispose();
    this.#training = undefined;
    this.score = undefined;
  }
}
