// SPDX-License-Identifier: MIT
// The noise of a table: normal noise for numbers, and random transitions between the values of a category.
import type { CategoryGroup, NoiseOptions } from 'probust';
import type { State, TableModel } from '../../state/state.js';
import { factorsOf, inputsOf, isCategory, placesOf, tableOfState, type CategoryColumn } from '../../tables/tables.js';

/** [k, k]: the probability of each value, given the current one. */
export const transitionsOf = ({ moves }: CategoryColumn, change: number): number[][] =>
  moves.map((row, i) => row.map((share, j) => (i === j ? 1 - change : change * share)));

/** The noise as text, with the arrays that it refers to by name. */
export interface Noise extends Pick<NoiseOptions, 'arrays' | 'categories'> {
  noise: string;
}

/**
 * The list of columns in the noise's text; empty for all columns. It is never empty for a regression, because TableModels.copied
 * adds columns.
 */
function onColumns(places: readonly { first: number }[], all: number, model: TableModel): string {
  return places.length === all && model !== 'regression' ? '' : `@${places.map(({ first }) => first).join(',')}`;
}

/** The noise at this scale. `name` distinguishes its array from those of other scales. */
export function noiseOf(state: Readonly<State>, sigma = state.tableSigma, name = 'std'): Noise {
  const table = tableOfState(state);
  const factors = factorsOf(state);
  const places = placesOf(table, inputsOf(table, state.tableModel));
  const numeric = places.filter(({ column }) => !isCategory(table.columns[column]!));
  const own = numeric.map(({ column }) => factors[column]!);
  const groups = places.flatMap(({ column, first, end }): CategoryGroup[] => {
    const its = table.columns[column]!;
    if (!isCategory(its)) return [];
    const columns = Array.from({ length: end - first }, (_, i) => first + i);
    return [{ columns, transitions: transitionsOf(its, state.tableChange).flat() }];
  });
  const where = onColumns(numeric, places.at(-1)!.end, state.tableModel);
  const same = own.every((factor) => factor === 1);
  const scaled = same ? `gaussian:${sigma}${where}` : `gaussian:std=${name}${where}`;
  return {
    noise: groups.length ? `${scaled}+categorical:transitions` : scaled,
    ...(!same && { arrays: { [name]: { data: own.map((factor) => factor * sigma), shape: [own.length] } } }),
    ...(groups.length && { categories: { transitions: groups } }),
  };
}

/** The noise at several scales, to be estimated in one request. */
export function noisesOf(state: Readonly<State>, sigmas: readonly number[]): Omit<Noise, 'noise'> & { noise: string[] } {
  const each = sigmas.map((sigma, i) => noiseOf(state, sigma, `std${i}`));
  const arrays = each[0]?.arrays && Object.assign({}, ...each.map((one) => one.arrays));
  const categories = each[0]?.categories;
  return { noise: each.map(({ noise }) => noise), ...(arrays && { arrays }), ...(categories && { categories }) };
}
