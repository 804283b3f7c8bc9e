// SPDX-License-Identifier: MIT
// The table lab's models, its requests and their results.
import type { NearestBoundary, Row } from 'probust';
import type { Boundary, Distances } from 'probust/analysis';
import type { State } from '../../state/state.js';
import { LabSession } from '../lab-session.js';
import { askBoundaries, askCurve, askNear, askQuick, askRanks, askRows, type Quick } from './answers.js';
import { TableModels } from './models.js';
import { pointOf, toleranceOf } from '../../tables/tables.js';

export interface TableValues {
  quick: Quick;
  near: NearestBoundary;
  rows: Distances;
  curve: Row[];
  ranks: (number | null)[];
}

const restMilliseconds = 120;

/**
 * The keys of the results. Each key contains whatever its result depends on: the models, the point, the noise's shape, or its
 * scale.
 */
export interface Keys {
  quick: string;
  near: string;
  rows: string;
  curve: string;
  ranks: string;
}

const modelsKey = (state: Readonly<State>): string =>
  [state.table, state.tableModel, state.tableModel === 'regression' ? toleranceOf(state) : ''].join(' ');

export class TableSession extends LabSession<TableValues> {
  #models: TableModels | undefined;
  #modelsKey = '';
  #bounds: { key: string; found: Promise<Boundary[]>; controller: AbortController } | undefined;
  readonly #nearest = this.newest();

  override key(state: Readonly<State>): string {
    return this.keys(state).quick;
  }

  keys(state: Readonly<State>): Keys {
    const all = `${this.version} ${state.seed}`;
    const point = `${state.tableRow} ${pointOf(state).join(' ')}`;
    const shape = `${state.tableFactors.join(' ')} ${state.tableChange}`;
    const scale = `${state.tableSigma}`;
    return {
      quick: [all, point, shape, scale].join('; '),
      near: [all, point].join('; '),
      rows: [all, shape, scale].join('; '),
      curve: [all, point, shape].join('; '),
      ranks: [all, shape].join('; '),
    };
  }

  override stateChanged(state: Readonly<State>, before: Readonly<State> | undefined): void {
    const models = modelsKey(state);
    if (models !== this.#modelsKey) this.#load(models);
    else if (before && this.key(state) !== this.key(before)) this.#ask();
  }

  override dispose(): void {
    super.dispose();
    this.#forget();
    this.#modelsKey = '';
  }

  #forget(): void {
    this.stopAsking();
    this.#nearest.stop();
    this.#bounds?.controller.abort();
    this.#bounds = undefined;
    this.#models?.dispose();
    this.#models = undefined;
  }

  #load(key: string): void {
    this.#modelsKey = key;
    this.loading.run(async (signal) => {
      const models = await TableModels.open(this.engine, this.state());
      if (signal.aborted) return models.dispose();
      this.#forget();
      this.#models = models;
      this.version += 1;
      // Results for a different table cannot be drawn with this one.
      this.answers = {};
      this.#ask();
    });
  }

  /** Requests everything that is shown and not computed yet. */
  #ask(): void {
    const models = this.#models;
    if (!models) return;
    const state = this.state();
    const keys = this.keys(state);
    this.frames.run(async (signal) => {
      this.keep('quick', keys.quick, await askQuick(models, state, signal));
      // The patient worker starts after the first result is on screen.
      if (this.answers.near?.key === keys.near) return;
      this.#nearest.run(async (signal) => this.keep('near', keys.near, await askNear(models, state, signal)));
    });
    this.atRest(restMilliseconds, (signal) => this.#refine(models, state, keys, signal));
  }

  #lacks(name: keyof Keys, keys: Keys): boolean {
    return this.answers[name]?.key !== keys[name];
  }

  async #refine(models: TableModels, state: Readonly<State>, keys: Keys, signal: AbortSignal): Promise<void> {
    const [model, probust] = await Promise.all([models.patient(), this.engine.probust('patient')]);
    if (this.wants('curves') && this.#lacks('curve', keys)) this.keep('curve', keys.curve, await askCurve(model, state, signal));
    if (!this.wants('scatter') && !this.wants('ranks')) return;
    const near = await this.#boundaries(models, state);
    if (signal.aborted) return;
    if (this.#lacks('rows', keys)) this.keep('rows', keys.rows, await askRows(probust, model, state, near, signal));
    if (!this.wants('ranks') || !this.#lacks('ranks', keys)) return;
    this.keep('ranks', keys.ranks, await askRanks(probust, model, state, near, signal));
  }

  /**
   * Computing the distances of all rows takes a second. They do not depend on the noise, so moving a slider does not interrupt
   * the search.
   */
  #boundaries(models: TableModels, state: Readonly<State>): Promise<Boundary[]> {
    const key = `${this.version} ${state.seed}`;
    if (this.#bounds?.key === key) return this.#bounds.found;
    this.#bounds?.controller.abort();
    const controller = new AbortController();
    const found = askBoundaries(models, state, controller.signal);
    this.#bounds = { key, found, controller };
    // A failed search is tried again. The caller reports the error.
    found.catch(() => this.#bounds?.found === found && (this.#bounds = undefined));
    return found;
  }
}
