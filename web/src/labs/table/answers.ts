// SPDX-License-Identifier: MIT
// The table lab's requests to probust. Every function is one request; all numbers come from the core.
import type { Cloud, Model, NearestBoundary, Probust, Row } from 'probust';
import { boundaries, distance, type Boundary, type Distances } from 'probust/analysis';
import type { State } from '../../state/state.js';
import { rowsOf, type TableModels } from './models.js';
import { noiseOf, noisesOf } from './noise.js';
import { encoded, inputsOf, pointOf, rowOf, tableOfState } from '../../tables/tables.js';

/** The number of samples per point that Scher and Trügler use. */
export const copies = 10_000;
export const countForm = `mc:${copies}`;

/** The number of counted samples that are drawn: the first ones. */
const drawn = 2000;

/** The point, encoded as the model's input, and the number of its row, which determines its noise. */
function askedOf(state: Readonly<State>): { x: Float32Array; index: number } {
  const table = tableOfState(state);
  const x = Float32Array.from(encoded(table, inputsOf(table, state.tableModel), pointOf(state)));
  return { x, index: rowOf(table, state) };
}

/** The results that are computed for every move of a slider. */
export interface Quick {
  state: Readonly<State>;
  /**
   * The estimate, with the share of each class. The classes of a regression are "lower", "higher" and "within the tolerance".
   */
  row: Row;
  /** The samples. The samples of a regression have two more columns (see TableModels.copied). */
  cloud: Cloud;
  /** The prediction of a regression. */
  output: number | undefined;
}

export async function askQuick(models: TableModels, state: Readonly<State>, signal: AbortSignal): Promise<Quick> {
  const { x, index } = askedOf(state);
  const options = { ...noiseOf(state), seed: state.seed, index, signal };
  const regression = state.tableModel === 'regression';
  const [rows, cloud, outputs] = await Promise.all([
    models.quick.estimate(x, { ...options, estimators: countForm, perClass: true }),
    models.copied(x).then((point) => models.copies.cloud(point, { ...options, count: drawn })),
    regression ? models.quick.logits(x) : undefined,
  ]);
  return { state, row: rows[0]!, cloud, output: outputs?.[0] };
}

/** The nearest point with a different prediction. Categories keep their values. */
export async function askNear(models: TableModels, state: Readonly<State>, signal: AbortSignal): Promise<NearestBoundary> {
  const { x, index } = askedOf(state);
  const [search, point] = await Promise.all([models.search(), models.searched(x)]);
  return search.nearestBoundary(point, { seed: state.seed, index, signal });
}

export async function askBoundaries(models: TableModels, state: Readonly<State>, signal: AbortSignal): Promise<Boundary[]> {
  const x = rowsOf(tableOfState(state), state.tableModel);
  const [search, points] = await Promise.all([models.search(), models.searched(x)]);
  return boundaries(search, points, { seed: state.seed, signal });
}

/** The lab's models were trained on its tables, so no check is needed. */
const trusted = { check: false };

/** p of every row, and the distance to its nearest boundary. */
export async function askRows(
  probust: Probust,
  model: Model,
  state: Readonly<State>,
  near: Boundary[],
  signal: AbortSignal,
): Promise<Distances> {
  const table = tableOfState(state);
  const options = { ...noiseOf(state), seed: state.seed, signal };
  const labels = state.tableModel === 'regression' ? undefined : table.rows.map(({ label }) => label);
  const rows = await model.estimate(rowsOf(table, state.tableModel), { ...options, ...trusted, labels, estimators: countForm });
  return (await distance(probust, rows, { boundaries: near }))[0]!;
}

/** The noise scales of the charts, from small scales to more than the spread of the data. */
export const scales = [0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.45, 0.7, 1, 1.5, 2.2, 3];

/** The estimates for the point at all scales. */
export async function askCurve(model: Model, state: Readonly<State>, signal: AbortSignal): Promise<Row[]> {
  const { x, index } = askedOf(state);
  return model.estimate(x, {
    ...noisesOf(state, scales),
    ...{ seed: state.seed, index, signal, estimators: countForm, perClass: true },
  });
}

const ranked = 'mc:2000';

/** The rank correlation between distance and p at each scale; null if all p are equal. */
export async function askRanks(
  probust: Probust,
  model: Model,
  state: Readonly<State>,
  near: Boundary[],
  signal: AbortSignal,
): Promise<(number | null)[]> {
  const x = rowsOf(tableOfState(state), state.tableModel);
  const options = { ...noisesOf(state, scales), ...trusted, seed: state.seed, signal };
  const rows = await model.estimate(x, { ...options, estimators: ranked });
  const groups = await distance(probust, rows, { boundaries: near });
  return groups.map(({ spearmanOfBoundaryAndP }) => spearmanOfBoundaryAndP);
}
