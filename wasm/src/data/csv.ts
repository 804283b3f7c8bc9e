// SPDX-License-Identifier: MIT
// Tables and labels in comma-separated values. Results and errors are the same as on the command line (native/datasets/csv.cpp).
import { refuse } from '../arrays.js';
import { asText, csvFeature, csvInteger, csvNumber, CsvRows, place, shown, type CsvRow } from './csv-rows.js';
import { classLabels, type ClassLabels, type StoredLabels } from './text-labels.js';

/** A table: one point per row, optionally with a column of labels. */
export interface CsvTable {
  values: number[];
  count: number;
  features: number;
  labels: number[] | undefined;
  /** Names of text labels, by class number: in sorted order, or the given ones. */
  classNames: string[] | undefined;
  /** Uncertain decisions that were made while reading, one line each. */
  notes: string[];
}

interface LabelColumn {
  index: number | undefined;
  named: boolean;
}

/** Names of label columns. `y` counts only in a file of labels, because it may be a coordinate in a table. */
const columnNames = ['label', 'labels', 'class', 'classes', 'target', 'species', 'category'];
const isLabelName = (cell: string): boolean => columnNames.includes(cell.toLowerCase());

/** The only column whose name is that of a label column; otherwise the last column. */
function usualColumn(cells: readonly string[], notes: string[]): LabelColumn {
  const last = cells.length - 1;
  const named = cells.findIndex(isLabelName);
  const header = csvFeature(cells[last]!) === undefined && cells.filter(isLabelName).length === 1;
  if (!header || named === last) return { index: last, named: false };
  notes.push(`labels are in column ${shown(cells[named]!)}; if they are in the last one, give labelColumn ${last}`);
  return { index: named, named: true };
}

/** Returns the label column. `labelColumn` is a column number, counted from 0, a name in the first row, 'last' or 'none'. */
function columnOf(labelColumn: number | string, [first, second]: readonly CsvRow[], name: string, notes: string[]): LabelColumn {
  const { cells } = first!;
  const width = cells.length;
  const text = String(labelColumn);
  if (text === 'none') return { index: undefined, named: false };
  const number = csvInteger(text);
  const known = cells.indexOf(text);
  let column: LabelColumn | undefined;
  if (text === 'last') column = usualColumn(cells, notes);
  else if (number !== undefined && number >= 0 && number < width) column = { index: number, named: false };
  else if (number === undefined && known >= 0) column = { index: known, named: true };
  if (!column) {
    const hint = 'give labelColumn a number from 0, a name in the first row, last or none';
    return refuse(name, `has no column ${shown(text)} among its ${width} ${width === 1 ? 'column' : 'columns'}`, hint);
  }
  if (width === 1 && second && (second.cells.length > 1 || /[,;\t|]/.test(second.cells[0]!))) {
    const what = `has one cell in its first row, ${shown(cells[0]!)}, but more in the next`;
    refuse(name, what, 'remove the first row, or give each column a name');
  }
  if (width === 1) refuse(name, 'has one column, which is read as the labels', 'give labelColumn none if it is a feature');
  return column;
}

const asPoint = 'write decimals with a point';

const hasDecimalComma = (cell: string): boolean => cell.includes(',') && csvNumber(cell.replace(',', '.')) !== undefined;

/** The number in a cell. `guessed`: the label column was not specified, so it may be this one. */
function featureOf({ cells, line }: CsvRow, column: number, guessed: boolean, name: string): number {
  const cell = cells[column]!;
  const value = csvFeature(cell);
  if (value !== undefined) return value;
  const what = cell === '' ? 'is empty' : `is not a number: ${shown(cell)}`;
  const labels = guessed && cell !== '' ? `, or give labelColumn ${column} if the labels are in it` : '';
  const remedy =
    cell === '' ? 'give every feature a number' : `remove the column, because every feature must be a number${labels}`;
  return refuse(`${place(line, column)} of ${name}`, what, hasDecimalComma(cell) ? asPoint : remedy);
}

function requireWidth({ cells, line }: CsvRow, width: number, name: string): void {
  if (cells.length === width) return;
  const what = `has ${cells.length} ${cells.length === 1 ? 'cell' : 'cells'}, but the first row has ${width}`;
  refuse(`row ${line} of ${name}`, what, 'give every row as many cells as the first');
}

/** Whether the first column has a few different whole numbers, beginning with 0. */
function firstMayBeLabels(rows: readonly CsvRow[]): boolean {
  const numbers = rows.map(({ cells }) => csvFeature(cells[0]!));
  const different = new Set(numbers).size;
  return (
    numbers.every((number) => number !== undefined && number >= 0 && Number.isInteger(number)) &&
    different > 1 &&
    different <= 1000
  );
}

/** Texts for missing values, as in pandas. */
const isMissing = (cell: string): boolean => /^(|NA|N\/A|NaN|nan|NULL|null)$/.test(cell);

/** The labels in a column; `first` is the first column of features. */
function storedLabels(rows: readonly CsvRow[], column: number, first: number | undefined, name: string): StoredLabels {
  const cells = rows.map((row) => row.cells[column]!);
  const refuseLabel = (at: number): never => {
    const cell = cells[at]!;
    const where = place(rows[at]!.line, column);
    if (cell !== '' && isMissing(cell)) {
      return refuse(`${where} of ${name}`, `is a missing label: ${shown(cell)}`, 'remove the row, or rename the class');
    }
    const what = cell === '' ? 'is an empty label' : `is not a whole-number label: ${shown(cell)}`;
    const none = 'give labelColumn none if there are no labels';
    const other = first === 0 && firstMayBeLabels(rows) ? ', or 0 if they are in the first column' : '';
    return refuse(`${where} of ${name}`, what, cell.includes(',') ? asPoint : none + other);
  };
  const comma = cells.findIndex(hasDecimalComma);
  if (comma >= 0 && cells.every((cell) => hasDecimalComma(cell) || csvNumber(cell) !== undefined)) refuseLabel(comma);
  const filled = cells.filter((cell) => !isMissing(cell));
  if (filled.length === 0 || filled.some((cell) => csvNumber(cell) === undefined)) {
    const missing = cells.findIndex(isMissing);
    return missing >= 0 ? refuseLabel(missing) : { texts: cells };
  }
  return { numbers: cells.map((cell, at) => csvInteger(cell) ?? refuseLabel(at)) };
}

/** Whether all labels except the first are numbers. The first row is then a header, even if the other names in it are numbers. */
function firstIsHeaderOfLabels(rows: readonly CsvRow[], column: number): boolean {
  if (rows.length < 2 || csvNumber(rows[0]!.cells[column]!) !== undefined) return false;
  const others = rows.slice(1).map(({ cells }) => cells[column] ?? '');
  return others.some((cell) => !isMissing(cell)) && others.every((cell) => isMissing(cell) || csvNumber(cell) !== undefined);
}

interface Counting {
  numbers: number;
  fromStart: boolean;
  byPosition: boolean;
}

/** Describes the whole numbers among the features of the first row; undefined if they do not increase in equal steps. */
function countingOf(cells: readonly string[], label: number | undefined): Counting | undefined {
  const counting: Counting = { numbers: 0, fromStart: true, byPosition: true };
  let [step, last, lastColumn] = [0, 0, 0];
  for (const [i, cell] of cells.entries()) {
    if (i === label) continue;
    const number = csvInteger(cell);
    if (number === undefined) {
      if (csvFeature(cell) !== undefined) return undefined;
      continue;
    }
    if (counting.numbers === 0) {
      counting.fromStart = number === 0 || (number === 1 && (label === 0 || cells.length >= 4)); // "1,2" may well be a point
    } else {
      const columns = i - lastColumn === 2 && label === i - 1 && number - last !== step ? 2 : 1;
      if (counting.numbers === 1) step = (number - last) / columns;
      if (step <= 0 || number - last !== columns * step) return undefined;
      counting.fromStart &&= step === 1;
    }
    counting.byPosition &&= number === i - (cells[0] === '' ? 1 : 0);
    [last, lastColumn] = [number, i];
    ++counting.numbers;
  }
  return counting.numbers > 0 ? counting : undefined;
}

/** Whether the first row's cell in the label column continues the numbering of the features, as in "0,1,2,3,4". */
function labelCounts(cells: readonly string[], label: number | undefined): boolean {
  if (label === undefined) return true;
  const [own, other] = [csvInteger(cells[label]!), csvInteger(cells[label === 0 ? 1 : 0]!)];
  return own !== undefined && other !== undefined && own - other === (label === 0 ? -1 : label);
}

/** Whether the first row, although its features are numbers, is a header that numbers the columns. */
function isHeaderOfNumbers(rows: readonly CsvRow[], label: number | undefined, columns: readonly number[]): boolean {
  if (rows.length < 2) return false;
  const cells = rows[0]!.cells;
  const counting = countingOf(cells, label);
  if (!counting) return false;
  if (columns.some((i) => csvFeature(cells[i]!) === undefined)) return counting.byPosition && counting.numbers > 1;
  const fraction = (cell: string | undefined) => cell !== undefined && !Number.isInteger(csvFeature(cell) ?? 0);
  const decimals = rows
    .slice(1)
    .some((row) => columns.some((i) => fraction(row.cells[i]) && Number.isFinite(csvFeature(row.cells[i]!))));
  const own = label === undefined ? undefined : cells[label]!;
  const others = label === undefined ? [] : rows.slice(1).map((row) => row.cells[label] ?? '');
  if (own !== undefined && csvNumber(own) === undefined) {
    const names = own !== '' && csvFeature(own) === undefined && !others.includes(own) && new Set(others).size < others.length;
    return names && (decimals || counting.numbers >= 4);
  }
  if (!counting.fromStart || !labelCounts(cells, label) || cells.length < 2) return false;
  return decimals || (own !== undefined && others.every((cell) => csvNumber(cell) === undefined));
}

/** A text such as "the first row is 0, 1, 2, ...". */
const firstRow = (cells: readonly string[]): string =>
  `the first row is ${cells.slice(0, 3).join(', ')}${cells.length > 3 ? ', ...' : ''}`;

/** Whether the first column is an unnamed index, as written by pandas and R. */
function hasIndex(header: CsvRow, rows: readonly CsvRow[], columns: readonly number[]): boolean {
  const unnamed = header.cells[0] === '' || header.cells[0]!.startsWith('Unnamed');
  if (!unnamed || columns.length < 2 || columns[0] !== 0 || rows.length < 2) return false;
  const numbers = rows.map(({ cells }) => csvFeature(cells[0]!));
  return numbers.every((number) => Number.isInteger(number)) && new Set(numbers).size === rows.length;
}

export function parseCsv(
  bytes: Uint8Array,
  labelColumn: number | string,
  name: string,
  classes?: readonly string[] | undefined,
): CsvTable {
  const source = new CsvRows(asText(bytes, name), name);
  let rows = [...source];
  if (rows.length === 0) return refuse(name, 'has no rows', 'give a row of comma-separated numbers per point');
  const header = rows[0]!;
  const width = header.cells.length;
  const notes: string[] = [];
  const { index, named } = columnOf(labelColumn, rows, name, notes);
  let columns = Array.from({ length: width }, (_, i) => i).filter((i) => i !== index);
  const words = named || columns.every((i) => csvFeature(header.cells[i]!) === undefined);
  const names = words || (index !== undefined && firstIsHeaderOfLabels(rows, index));
  const counts = !names && isHeaderOfNumbers(rows, index, columns);
  const isHeader = names || counts;
  if (counts) notes.push(`${firstRow(header.cells)} and is read as a header`);
  if (isHeader) rows = rows.slice(1);
  if (rows.length === 0) refuse(name, 'has a header and no rows', 'give a row of comma-separated numbers per point');
  const points = rows.map((row) => {
    requireWidth(row, width, name);
    return columns.map((column) => featureOf(row, column, labelColumn === 'last', name));
  });
  const dropped = isHeader && hasIndex(header, rows, columns) ? 1 : 0;
  if (dropped) notes.push('the first column has no name and numbers the rows, so it is left out');
  columns = columns.slice(dropped);
  const values = points.flatMap((point) => point.slice(dropped));
  const labels: Partial<ClassLabels> =
    index === undefined ? {} : classLabels(storedLabels(rows, index, columns[0], name), classes, name);
  return { values, count: rows.length, features: columns.length, labels: labels.labels, classNames: labels.classNames, notes };
}

/** Reads one label per line: either whole numbers only, or words only. Skips a header line and blank lines. */
export function parseLabelLines(bytes: Uint8Array, name: string): StoredLabels {
  const rows = [...new CsvRows(asText(bytes, name), name)];
  const odd = rows.find(({ cells }) => cells.length !== 1);
  if (odd) refuse(`${place(odd.line, 0)} of ${name}`, 'is not a single label', 'give one label per line');
  const texts = rows.map(({ cells }) => cells[0]!);
  const missing = texts.findIndex(isMissing);
  if (missing >= 0) {
    const where = `${place(rows[missing]!.line, 0)} of ${name}`;
    refuse(where, `is a missing label: ${shown(texts[missing]!)}`, 'remove the point, or rename the class');
  }
  const numbers = texts.map(csvInteger);
  const anyNumber = numbers.some((number) => number !== undefined);
  const text = numbers.lastIndexOf(undefined);
  if (anyNumber && text > 0) {
    const hint = 'give one label per line: only numbers, or only words';
    refuse(`${place(rows[text]!.line, 0)} of ${name}`, 'is not a whole number', hint);
  }
  const named = texts.length > 1 && (isLabelName(texts[0]!) || texts[0]!.toLowerCase() === 'y') && new Set(texts).size > 1;
  if (anyNumber) return { numbers: (text === 0 ? numbers.slice(1) : numbers) as number[] };
  return { texts: named && !texts.includes(texts[0]!, 1) ? texts.slice(1) : texts };
}
