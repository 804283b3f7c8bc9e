// SPDX-License-Identifier: MIT
// A table's models, loaded in the page's workers, and points in the form that these models expect.
import type { Model, ModelOptions } from 'probust';
import type { Engine, Side } from '../../engine/engine.js';
import { toleranceOf, encoded, inputsOf, isCategory, placesOf, tableOfState, type Table } from '../../tables/tables.js';
import type { State } from '../../state/state.js';

/**
 * The factor of columns that the search for the nearest change must leave as they are: with it, any step along these columns is
 * too long.
 */
const fixed = 2 ** 20;

/** The factor of each input of the search: 1, or `fixed`. */
function stretches(state: Readonly<State>): number[] {
  const table = tableOfState(state);
  const places = placesOf(table, inputsOf(table, state.tableModel));
  const own = places.flatMap(({ column, first, end }) =>
    Array.from({ length: end - first }, () => (isCategory(table.columns[column]!) ? fixed : 1)),
  );
  return state.tableModel === 'regression' ? [...own, fixed, fixed] : own;
}

const stretchedBy = (std: number[]): ModelOptions => (std.every((each) => each === 1) ? {} : { mean: std.map(() => 0), std });

/** The models for one choice of table, model and tolerance. */
export class TableModels {
  #patient: Promise<Model> | undefined;
  #search: Promise<Model> | undefined;

  private constructor(
    private readonly engine: Engine,
    private readonly state: Readonly<State>,
    readonly quick: Model,
    /** Classifies noisy samples: for a regression, as lower, higher or within the tolerance. */
    readonly copies: Model,
  ) {}

  static async open(engine: Engine, state: Readonly<State>): Promise<TableModels> {
    const quick = await main(engine, 'quick', state);
    const copies = state.tableModel === 'regression' ? await engine.load('quick', tableOfState(state).models.change) : quick;
    return new TableModels(engine, state, quick, copies);
  }

  patient(): Promise<Model> {
    return (this.#patient ??= main(this.engine, 'patient', this.state));
  }

  /** The model for the search for the nearest change. Its inputs are points from `searched`. */
  search(): Promise<Model> {
    const { models } = tableOfState(this.state);
    const bytes = models[this.state.tableModel === 'regression' ? 'change' : this.state.tableModel];
    return (this.#search ??= this.engine.load('patient', bytes, stretchedBy(stretches(this.state))));
  }

  /** Converts points [n, d] to inputs of `copies`. For a regression, adds two columns: its prediction and the tolerance. */
  async copied(x: Float32Array, model = this.quick): Promise<Float32Array> {
    if (this.state.tableModel !== 'regression') return x;
    const answers = await model.logits(x);
    const size = x.length / answers.length;
    const tolerance = toleranceOf(this.state);
    return Float32Array.from([...answers].flatMap((answer, i) => [...x.subarray(i * size, (i + 1) * size), answer, tolerance]));
  }

  /** Converts points [n, d] to inputs of `search`. */
  async searched(x: Float32Array): Promise<Float32Array> {
    const by = stretches(this.state);
    return (await this.copied(x, await this.patient())).map((value, i) => value * by[i % by.length]!);
  }

  dispose(): void {
    this.quick.dispose();
    if (this.copies !== this.quick) this.copies.dispose();
    for (const model of [this.#patient, this.#search]) void model?.then((each) => each.dispose()).catch(() => undefined);
  }
}

function main(engine: Engine, side: Side, state: Readonly<State>): Promise<Model> {
  const bytes = tableOfState(state).models[state.tableModel];
  return engine.load(side, bytes, state.tableModel === 'regression' ? { tolerance: toleranceOf(state) } : {});
}

/** All rows of the table [n, d]. */
export const rowsOf = (table: Table, model: State['tableModel']): Float32Array =>
  Float32Array.from(table.rows.flatMap(({ values }) => encoded(table, inputsOf(table, model), values)));
