// SPDX-License-Identifier: MIT
// The 2-D lab without its user interface: the network, the requests and the answers. Each answer is kept with the key of its
// request, so that stale ones can be dimmed.
import type { Model, Row } from 'probust';
import { gridOf, gridPoints, type Field } from '../../draw/field.js';
import type { Engine } from '../../engine/engine.js';
import { Newest, pause, Replacing, type Kept } from '../../engine/latest.js';
import type { State } from '../../state/state.js';
import {
  askConvergence,
  askCounted,
  askCurves,
  askListed,
  askQuick,
  type Convergence,
  type Counted,
  type Curves,
  type Listed,
  type Quick,
} from './answers.js';
import { bytesOf, pretrained, view } from './models.js';

export interface Answers {
  quick?: Kept<Quick>;
  listed?: Kept<Listed>;
  counted?: Kept<Counted>;
  curves?: Kept<Curves>;
  convergence?: Kept<Convergence>;
}

/** The best known truth: the fine sum if it answers the same request as the quick one, else the quick one. */
export const truthOf = ({ quick, listed }: Answers): Row | undefined =>
  listed && listed.key === quick?.key ? listed.value.truth : quick?.value.truth;

export interface Callbacks {
  changed(): void;
  failed(error: unknown): void;
  /** Whether a costly panel is visible. */
  wants(panel: 'counted' | 'curves' | 'convergence'): boolean;
}

const gridSize = 192;
/** Used during training, when regions change every frame. */
const coarseGridSize = 96;
const restMilliseconds = 140;
const convergenceSeeds = 12;

const scales = (reach: number): number[] =>
  Array.from({ length: 25 }, (_, i) => Number((reach * 0.02 * 50 ** (i / 24)).toPrecision(4)));

function requirePlane({ info: { pointShape } }: Model): void {
  const elements = pointShape.reduce((product, extent) => product * extent, 1);
  if (elements !== 2) throw new Error(`This network takes ${elements} numbers. The 2-D lab needs one that takes two.`);
}

export class Session {
  field: Field | undefined;
  answers: Answers = {};
  #version = 0;
  #bytes: Uint8Array | undefined;
  #quick: Model | undefined;
  #patient: Promise<Model> | undefined;
  readonly #loading = new Replacing((error) => this.callbacks.failed(error));
  readonly #frames = new Newest((error) => this.callbacks.failed(error));
  readonly #lists = new Newest((error) => this.callbacks.failed(error));
  readonly #rest = new Replacing((error) => this.callbacks.failed(error));

  constructor(
    private readonly engine: Engine,
    private readonly callbacks: Callbacks,
  ) {}

  /** A key of everything that a request depends on. */
  key({ x, sigma, ratio, angle, seed, estimators }: Readonly<State>): string {
    return [this.#version, ...x, sigma, ratio, angle, seed, estimators].join(' ');
  }

  stateChanged(state: Readonly<State>, before: Readonly<State> | undefined): void {
    if (state.model !== before?.model) this.#loading.stop();
    if (state.model !== before?.model && state.model !== 'trained') this.#load(state);
    else if (before && this.key(state) !== this.key(before)) this.ask(state);
  }

  dispose(): void {
    for (const work of [this.#loading, this.#frames, this.#lists, this.#rest]) work.stop();
    this.#release();
  }

  /** The current network is final: draws its regions on the fine grid. */
  settle(state: Readonly<State>): void {
    const bytes = this.#bytes;
    if (bytes) this.#loading.run(() => this.use(bytes, state));
  }

  #load(state: Readonly<State>): void {
    this.#loading.run(async (signal) => {
      const bytes = await bytesOf(pretrained[state.model]?.url ?? state.model, signal);
      if (!signal.aborted) await this.use(bytes, state);
    });
  }

  /** Uses this network from now on. `passing`: training will soon replace it. */
  async use(bytes: Uint8Array, state: Readonly<State>, passing = false): Promise<void> {
    const model = await this.engine.load('quick', bytes);
    requirePlane(model);
    this.#release();
    [this.#quick, this.#bytes] = [model, bytes];
    this.#version += 1;
    this.ask(state);
    const grid = gridOf(view, passing ? coarseGridSize : gridSize);
    const logits = await model.logits(gridPoints(grid));
    if (this.#quick !== model) return;
    this.field = { ...grid, classes: model.info.classes, logits };
    this.callbacks.changed();
  }

  #release(): void {
    this.#quick?.dispose();
    void this.#patient?.then((model) => model.dispose()).catch(() => undefined);
    [this.#quick, this.#patient] = [undefined, undefined];
  }

  /** Requests everything that is shown; costly requests wait until the state has not changed for a while. */
  ask(state: Readonly<State>): void {
    const model = this.#quick;
    if (!model) return;
    const key = this.key(state);
    this.#frames.run(async (signal) => {
      this.#keep('quick', key, await askQuick(model, state, signal));
      // The second worker starts after the first answer is on screen.
      this.#lists.run(async (signal) =>
        this.#keep('listed', key, await askListed(await this.#second(), state, state.estimators, signal)),
      );
    });
    this.#rest.run(async (signal) => {
      await pause(restMilliseconds, signal);
      await this.#refine(state, key, signal);
    });
  }

  async #refine(state: Readonly<State>, key: string, signal: AbortSignal): Promise<void> {
    const { wants } = this.callbacks;
    const model = await this.#second();
    const probust = await this.engine.probust('patient');
    if (wants('counted')) this.#keep('counted', key, await askCounted(probust, model, state, signal));
    if (wants('curves')) this.#keep('curves', key, await askCurves(model, state, scales(view.reach), state.estimators, signal));
    if (!wants('convergence')) return;
    for await (const found of askConvergence(model, state, convergenceSeeds, signal)) this.#keep('convergence', key, found);
  }

  #second(): Promise<Model> {
    return (this.#patient ??= this.engine.load('patient', this.#bytes!));
  }

  #keep<K extends keyof Answers>(name: K, key: string, value: NonNullable<Answers[K]>['value']): void {
    this.answers = { ...this.answers, [name]: { key, value } };
    this.callbacks.changed();
  }
}
