// SPDX-License-Identifier: MIT
// The 2-D lab without its screen: which network answers, what is asked of it when the state changes, and the answers that there
// are. Each answer knows what it was asked, so that the screen can dim what is stale.
import type { Linearization, Model, Row } from 'probust';
import { gridOf, gridPoints, type Field } from '../../draw/field.js';
import type { View } from '../../draw/view.js';
import type { Engine } from '../../engine/engine.js';
import { Newest, Replacing } from '../../engine/latest.js';
import { noiseOf } from '../../engine/noise.js';
import type { State } from '../../state/state.js';
import { bytesOf, pretrained } from './models.js';

/** What the cheapest questions at one point gave. */
export interface Quick {
  key: string;
  state: Readonly<State>;
  truth: Row;
  taylor: Row;
  linear: Linearization;
}

export interface Callbacks {
  changed(): void;
  failed(error: unknown): void;
}

const gridSize = 192;

export class Session {
  view: View = pretrained.three!.view;
  field: Field | undefined;
  quick: Quick | undefined;
  #bytes: Uint8Array | undefined;
  #model: Model | undefined;
  #version = 0;
  readonly #loading: Replacing;
  readonly #frames: Newest;

  constructor(
    private readonly engine: Engine,
    private readonly callbacks: Callbacks,
  ) {
    this.#loading = new Replacing((error) => this.callbacks.failed(error));
    this.#frames = new Newest((error) => this.callbacks.failed(error));
  }

  /** Names what a question depends on. */
  key({ x, sigma, ratio, angle, seed }: Readonly<State>): string {
    return [this.#version, ...x, sigma, ratio, angle, seed].join(' ');
  }

  stateChanged(state: Readonly<State>, before: Readonly<State> | undefined): void {
    if (state.model !== before?.model) this.#load(state);
    else if (this.key(state) !== this.key(before)) this.#ask(state);
  }

  dispose(): void {
    this.#loading.stop();
    this.#frames.stop();
    this.#model?.dispose();
  }

  #load(state: Readonly<State>): void {
    this.#loading.run(async (signal) => {
      const known = pretrained[state.model];
      if (known) this.view = known.view;
      await this.#use(await bytesOf(known?.url ?? state.model, signal), state);
    });
  }

  async #use(bytes: Uint8Array, state: Readonly<State>): Promise<void> {
    const model = await this.engine.load('quick', bytes);
    this.#model?.dispose();
    this.#model = model;
    this.#bytes = bytes;
    this.#version += 1;
    this.#ask(state);
    const grid = gridOf(this.view, gridSize);
    const logits = await model.logits(gridPoints(grid));
    if (this.#model !== model) return;
    this.field = { ...grid, classes: model.info.classes, logits };
    this.callbacks.changed();
  }

  /** What every frame of a drag asks. */
  #ask(state: Readonly<State>): void {
    const model = this.#model;
    if (!model) return;
    this.#frames.run(async (signal) => {
      const options = { ...noiseOf(state), seed: state.seed, signal };
      const [rows, linear] = await Promise.all([
        model.estimate(state.x, { ...options, estimators: ['mc:20000', 'taylor'] }),
        model.linearize(state.x, options.noise, options),
      ]);
      this.quick = { key: this.key(state), state, truth: rows[0]!, taylor: rows[1]!, linear };
      this.callbacks.changed();
    });
  }

  get bytes(): Uint8Array | undefined {
    return this.#bytes;
  }
}
