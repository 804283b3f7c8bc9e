// SPDX-License-Identifier: MIT
// The tables and their models, which scripts/make-table-models.mjs creates. The models' inputs are numbers, standardised with the
// mean and standard deviation of their column, and categories as one-hot columns. The unit of noise and distances is therefore
// one standard deviation.
import daysChange from '../../models/days-change.onnx?inline';
import daysForest from '../../models/days-forest.onnx?inline';
import daysNetwork from '../../models/days-network.onnx?inline';
import daysRegression from '../../models/days-regression.onnx?inline';
import daysText from '../../models/days.csv?raw';
import irisChange from '../../models/iris-change.onnx?inline';
import irisForest from '../../models/iris-forest.onnx?inline';
import irisNetwork from '../../models/iris-network.onnx?inline';
import irisRegression from '../../models/iris-regression.onnx?inline';
import irisText from '../../models/iris.csv?raw';
import about from '../../models/tables.json';
import { inlinedBytes } from '../engine/files.js';
import type { State, TableModel, TableName } from '../state/state.js';

export interface NumberColumn {
  name: string;
  unit: string;
  /** The step of the column's slider. */
  step: number;
  mean: number;
  std: number;
  /** The ends of the column's slider. */
  low: number;
  high: number;
}

export interface CategoryColumn {
  name: string;
  values: string[];
  /**
   * [k, k]: the probability of each new value (column), given the old one (row) and that the value changes. Each row adds up to
   * 1.
   */
  moves: number[][];
}

export type Column = NumberColumn | CategoryColumn;

export const isCategory = (column: Column): column is CategoryColumn => 'values' in column;

export interface TableRow {
  /** One number per column; a category is its index. */
  values: number[];
  label: number;
}

export interface Regression {
  output: string;
  unit: string;
  digits: number;
  /** The indices of the table's columns that are inputs. */
  inputs: number[];
  tolerance: number;
}

export interface Table {
  title: string;
  about: string;
  source: string;
  /** A noun for a row, such as "flower". */
  one: string;
  classes: string[];
  columns: Column[];
  rows: TableRow[];
  regression: Regression;
  /** The index of the row that is shown first. */
  row: number;
  models: Record<TableModel | 'change', Uint8Array>;
}

type Plain = Omit<Table, 'columns' | 'rows' | 'models'> & { columns: (CategoryColumn | Omit<NumberColumn, 'low' | 'high'>)[] };

function rowsOf({ columns, classes }: Plain, text: string): TableRow[] {
  const [, ...lines] = text.trim().split('\n');
  return lines.map((line) => {
    const cells = line.split(',');
    const values = columns.map((column, i) => ('values' in column ? column.values.indexOf(cells[i]!) : Number(cells[i])));
    return { values, label: classes.indexOf(cells.at(-1)!) };
  });
}

/** How far sliders extend beyond the values of the rows, as a share of their range. */
const beyond = 0.06;

function ranged(column: Plain['columns'][number], values: number[]): Column {
  if ('values' in column) return column;
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const more = beyond * (most - least);
  const onStep = (value: number) => Number((Math.round(value / column.step) * column.step).toFixed(3));
  return { ...column, low: Math.max(0, onStep(least - more)), high: onStep(most + more) };
}

function tableOf(plain: Plain, text: string, models: Record<keyof Table['models'], string>): Table {
  const rows = rowsOf(plain, text);
  const columns = plain.columns.map((column, i) =>
    ranged(
      column,
      rows.map(({ values }) => values[i]!),
    ),
  );
  const { forest, network, regression, change } = models;
  const bytes = {
    ...{ forest: inlinedBytes(forest), network: inlinedBytes(network) },
    ...{ regression: inlinedBytes(regression), change: inlinedBytes(change) },
  };
  return { ...plain, columns, rows, models: bytes };
}

export const tables: Record<TableName, Table> = {
  iris: tableOf(about.iris, irisText, {
    forest: irisForest,
    network: irisNetwork,
    regression: irisRegression,
    change: irisChange,
  }),
  days: tableOf(about.days, daysText, {
    forest: daysForest,
    network: daysNetwork,
    regression: daysRegression,
    change: daysChange,
  }),
};

export const tableOfState = ({ table }: Pick<State, 'table'>): Table => tables[table];

/** The model's input columns, as indices of the table's columns. */
export const inputsOf = ({ columns, regression }: Table, model: TableModel): number[] =>
  model === 'regression' ? regression.inputs : columns.map((_, i) => i);

/** The category among the model's inputs, if there is one. */
export function categoryOf(state: Pick<State, 'table' | 'tableModel'>): CategoryColumn | undefined {
  const table = tableOfState(state);
  return inputsOf(table, state.tableModel)
    .map((i) => table.columns[i]!)
    .find(isCategory);
}

export const rowOf = (table: Table, { tableRow }: Pick<State, 'tableRow'>): number => Math.min(tableRow, table.rows.length - 1);

/** Whether the values are possible for this table: they may come from a URL for another table. */
function fits({ columns }: Table, values: readonly number[]): boolean {
  const possible = (column: Column, value: number) => !isCategory(column) || column.values[value] !== undefined;
  return values.length === columns.length && columns.every((column, i) => possible(column, values[i]!));
}

/** The point: the values of the row, possibly changed. */
export function pointOf(state: Readonly<State>): number[] {
  const table = tableOfState(state);
  return fits(table, state.tableX) ? state.tableX : table.rows[rowOf(table, state)]!.values;
}

/** The values as model inputs. */
export const encoded = ({ columns }: Table, inputs: readonly number[], values: readonly number[]): number[] =>
  inputs.flatMap((i) => {
    const column = columns[i]!;
    const value = values[i]!;
    return isCategory(column) ? column.values.map((_, k) => (k === value ? 1 : 0)) : [(value - column.mean) / column.std];
  });

/** For each column of the table that the model uses: the model's input columns [first, end). */
export function placesOf({ columns }: Table, inputs: readonly number[]): { column: number; first: number; end: number }[] {
  let next = 0;
  return inputs.map((i) => {
    const column = columns[i]!;
    const first = next;
    next += isCategory(column) ? column.values.length : 1;
    return { column: i, first, end: next };
  });
}

/** The tolerance of a regression, in its unit. */
export const toleranceOf = (state: Readonly<State>): number => state.tableTolerance || tableOfState(state).regression.tolerance;

/** Factors of the noise, one for each of the table's columns; undefined for categories. */
export function factorsOf(state: Readonly<State>): (number | undefined)[] {
  const { columns } = tableOfState(state);
  const count = columns.filter((column) => !isCategory(column)).length;
  const given = state.tableFactors.length === count ? state.tableFactors : [];
  let next = 0;
  return columns.map((column) => (isCategory(column) ? undefined : (given[next++] ?? 1)));
}
