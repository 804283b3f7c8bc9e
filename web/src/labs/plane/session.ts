// SPDX-License-Identifier: MIT
// The 2-D lab's network, its requests and their results.
import type { Model, Row } from 'probust';
import { gridOf, gridPoints, type Field } from '../../draw/field.js';
import type { Convergence } from '../../panels/convergence.js';
import type { Counted } from '../../panels/counting.js';
import type { Curves } from '../../panels/curves.js';
import { listedOf, type State } from '../../state/state.js';
import { bytesOf } from '../../engine/files.js';
import { LabSession, Network, type Answers } from '../lab-session.js';
import {
  askConvergence,
  askCounted,
  askCurves,
  askListed,
  askQuick,
  askVotes,
  type Listed,
  type Quick,
  type Votes,
} from './answers.js';
import { pretrained, view } from './models.js';

export interface PlaneValues {
  quick: Quick;
  listed: Listed;
  counted: Counted;
  votes: Votes;
  curves: Curves;
  convergence: Convergence;
}

/**
 * The true p: from the finer quadrature if its result is for the same request as the quick one's, otherwise from the quick one.
 */
export const truthOf = ({ quick, listed }: Answers<PlaneValues>): Row | undefined =>
  listed && listed.key === quick?.key ? listed.value.truth : quick?.value.truth;

const gridSize = 192;
/** Used during training, when regions change every frame. */
const coarseGridSize = 96;
const restMilliseconds = 140;
const convergenceSeeds = 12;

const scales = (reach: number): number[] =>
  Array.from({ length: 25 }, (_, i) => Number((reach * 0.02 * 50 ** (i / 24)).toPrecision(4)));

function requirePlane({ info: { pointShape } }: Model): void {
  const elements = pointShape.reduce((product, extent) => product * extent, 1);
  if (elements !== 2) throw new Error(`This network has ${elements} inputs. The 2-D lab needs a network with two.`);
}

export class PlaneSession extends LabSession<PlaneValues> {
  field: Field | undefined;
  #bytes: Uint8Array | undefined;
  readonly #lists = this.newest();

  override key(state: Readonly<State>): string {
    const { more, x, noise, clip, sigma, ratio, angle, seed } = state;
    return [this.version, more, ...x, noise, clip, sigma, ratio, angle, seed, listedOf(state, 'estimators')].join(' ');
  }

  override stateChanged(state: Readonly<State>, before: Readonly<State> | undefined): void {
    const other = state.model !== before?.model;
    if (other) this.loading.stop();
    if ((other || this.#failed) && state.model !== 'trained') this.#load(state.model);
    else if (before && (this.key(state) !== this.key(before) || state.panels !== before.panels)) this.#ask();
  }

  override dispose(): void {
    this.#lists.stop();
    super.dispose();
  }

  /** Called when the current network is final: draws its regions on the fine grid. */
  settle(): void {
    const bytes = this.#bytes;
    if (bytes) this.loading.run(() => this.use(bytes));
  }

  /** Whether loading the network failed; the next change tries again. */
  #failed = false;

  #load(name: string): void {
    this.#failed = false;
    this.loading.run(async (signal) => {
      try {
        const bytes = await (pretrained[name]?.read(signal) ?? bytesOf(name, signal));
        if (!signal.aborted) await this.use(bytes);
      } catch (error) {
        this.#failed = !signal.aborted;
        throw error;
      }
    });
  }

  /** Uses this network from now on. `passing`: whether it will soon be replaced by training. */
  async use(bytes: Uint8Array, passing = false): Promise<void> {
    const model = await this.engine.load('quick', bytes);
    requirePlane(model);
    this.network?.dispose();
    this.network = new Network(model, () => this.engine.load('patient', bytes));
    this.#bytes = bytes;
    this.version += 1;
    this.#ask();
    const grid = gridOf(view, passing ? coarseGridSize : gridSize);
    const logits = await model.logits(gridPoints(grid));
    if (this.network?.quick !== model) return;
    this.field = { ...grid, classes: model.info.classes, logits };
    this.callbacks.changed();
  }

  /** Requests everything that is shown. */
  #ask(): void {
    const model = this.network?.quick;
    if (!model) return;
    const state = this.state();
    const key = this.key(state);
    this.frames.run(async (signal) => {
      this.keep('quick', key, await askQuick(model, state, signal));
      // The patient worker starts after the first result is on screen.
      this.#lists.run(async (signal) =>
        this.keep('listed', key, await askListed(await this.patient(), state, listedOf(state, 'estimators'), signal)),
      );
    });
    this.atRest(restMilliseconds, (signal) => this.#refine(state, key, signal));
  }

  async #refine(state: Readonly<State>, key: string, signal: AbortSignal): Promise<void> {
    const model = await this.patient();
    const probust = await this.engine.probust('patient');
    if (this.wants('counting')) this.keep('counted', key, await askCounted(probust, model, state, signal));
    if (this.wants('smoothing')) this.keep('votes', key, await askVotes(probust, model, state, signal));
    if (this.wants('curves'))
      this.keep('curves', key, await askCurves(model, state, scales(view.reach), listedOf(state, 'estimators'), signal));
    if (!this.wants('convergence')) return;
    for await (const found of askConvergence(model, state, convergenceSeeds, signal)) this.keep('convergence', key, found);
  }
}
