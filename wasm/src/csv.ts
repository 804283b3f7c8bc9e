// SPDX-License-Identifier: MIT
// Comma-separated values (RFC 4180): quoted cells, any line ending, with or without a header. Semicolons and tabs separate, too.
// Results and errors are those of the command line (native/datasets/csv.cpp).
import { refuse } from './arrays.js';

/** A cell as a number; "nan" and "inf" are numbers. */
export function csvNumber(cell: string): number | undefined {
  const text = /^\+[^-]/.test(cell) ? cell.slice(1) : cell;
  const word = /^(-?)(inf|infinity|nan)$/i.exec(text);
  if (word) return (word[1] ? -1 : 1) * (/^n/i.test(word[2]!) ? NaN : Infinity);
  if (!/^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return undefined;
  const value = Number(text);
  const lost = !Number.isFinite(value) || (value === 0 && /[1-9]/.test(text.replace(/e.*/i, '')));
  return lost ? undefined : value;
}

/** A cell as a whole number ("3", "-1", "2.0"). */
export function csvInteger(cell: string): number | undefined {
  const value = csvNumber(cell);
  return value !== undefined && Math.abs(value) <= 2 ** 53 && Number.isInteger(value) ? value : undefined;
}

/** The cell for an error message. */
const shown = (cell: string): string => (cell.length <= 32 ? `'${cell}'` : `'${cell.slice(0, 32)}...'`);
const place = (line: number, column: number): string => `row ${line}, column ${column + 1}`;

/** The bytes as text, without a byte order mark. */
export function asText(bytes: Uint8Array, name: string): string {
  const foreign = (c: number) => (c < 0x20 && c !== 9 && c !== 10 && c !== 13) || c === 0x7f;
  if (bytes.some(foreign)) refuse(name, 'is not text', 'give comma-separated numbers in UTF-8 or ASCII');
  return new TextDecoder().decode(bytes);
}

/** The separator: a semicolon if the first row has one outside quotes, else a comma, else a tab. */
function separatorOf(text: string): string {
  const row = /^[\r\n]*((?:"[^"]*"|[^"\r\n])*)/.exec(text)![1]!.replace(/"[^"]*"/g, '');
  if (row.includes(';')) return ';';
  return row.includes('\t') && !row.includes(',') ? '\t' : ',';
}

/** A row, and the line of the file on which it begins, counted from 1. */
export interface CsvRow {
  cells: string[];
  line: number;
}

/** The rows of a text that are not blank. */
export class CsvRows {
  readonly separator: string;
  readonly #text: string;
  readonly #name: string;
  readonly #blanks: RegExp;
  readonly #end: RegExp;
  #at = 0;
  #line = 1;

  constructor(text: string, name: string) {
    this.#text = text;
    this.#name = name;
    this.separator = separatorOf(text);
    this.#blanks = this.separator === '\t' ? / */y : /[ \t]*/y;
    this.#end = this.separator === '\t' ? /[^\r\n\t]*/y : this.separator === ';' ? /[^\r\n;]*/y : /[^\r\n,]*/y;
  }

  *[Symbol.iterator](): Generator<CsvRow> {
    while (this.#at < this.#text.length) {
      const row: CsvRow = { cells: [], line: this.#line };
      do row.cells.push(this.#cell(row.line));
      while (this.#separated());
      if (row.cells.length > 1 || row.cells[0] !== '') yield row;
    }
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)![0];
    this.#at += found.length;
    return found;
  }

  #cell(row: number): string {
    const start = this.#at;
    this.#take(this.#blanks);
    if (this.#text[this.#at] === '"') return this.#quoted(row);
    this.#at = start;
    return this.#take(this.#end).replace(/^[ \t]+|[ \t]+$/g, '');
  }

  /** From the opening quote to the closing one; doubled quotes become one. */
  #quoted(row: number): string {
    const cell = this.#take(/"(?:[^"]|"")*/y).slice(1);
    if (this.#text[this.#at] !== '"') refuse(this.#name, `row ${row} has a quote that is never closed`);
    this.#line += cell.split('\n').length - 1;
    ++this.#at;
    this.#take(this.#blanks);
    const next = this.#text[this.#at];
    if (next !== undefined && !['\r', '\n', this.separator].includes(next)) {
      refuse(this.#name, `row ${row} has text after a closing quote`);
    }
    return cell.replaceAll('""', '"');
  }

  /** Passes what ends a cell; whether that is a separator. */
  #separated(): boolean {
    const next = this.#text[this.#at];
    if (next === undefined) return false;
    if (next !== this.separator) ++this.#line;
    this.#at += this.#text.startsWith('\r\n', this.#at) ? 2 : 1;
    return next === this.separator;
  }
}

/** A table: a point per row, and perhaps a column of labels. */
export interface CsvTable {
  values: number[];
  count: number;
  features: number;
  labels: number[] | undefined;
  /** Text labels, by number in order of first appearance. */
  classNames: string[] | undefined;
}

interface LabelColumn {
  index: number | undefined;
  named: boolean;
}

/** `labelColumn` is a number from 0, a name in the first row, 'last' or 'none'. */
function columnOf(labelColumn: number | string, cells: readonly string[], name: string): LabelColumn {
  const width = cells.length;
  const text = String(labelColumn);
  if (text === 'none') return { index: undefined, named: false };
  const number = csvInteger(text);
  const known = cells.indexOf(text);
  let column: LabelColumn | undefined;
  if (text === 'last') column = { index: width - 1, named: false };
  else if (number !== undefined && number >= 0 && number < width) column = { index: number, named: false };
  else if (number === undefined && known >= 0) column = { index: known, named: true };
  if (!column) {
    const hint = 'labelColumn is a number from 0, a name in the first row, last or none';
    return refuse(name, `has no column ${shown(text)} among its ${width}`, hint);
  }
  if (width === 1) refuse(name, 'has one column, which is taken as the label', 'give labelColumn none if it is not');
  return column;
}

/** A feature is the number in its cell. */
function featureOf({ cells, line }: CsvRow, column: number, separator: string, name: string): number {
  const cell = cells[column]!;
  const value = csvNumber(cell);
  if (value !== undefined) return value;
  const what = cell === '' ? ' is empty' : ` is not a number: ${shown(cell)}`;
  const comma = cell.includes(',') && separator !== ',';
  return refuse(name, place(line, column) + what, comma ? 'write decimals with a point' : 'every feature is a number');
}

function requireWidth({ cells, line }: CsvRow, width: number, name: string): void {
  if (cells.length === width) return;
  const fewer = cells.length < width;
  const where = place(line, fewer ? cells.length : width);
  const what = fewer ? 'is missing: the row has' : 'is one too many: the row has';
  refuse(name, `${where} ${what} ${cells.length} cells and the first has ${width}`);
}

/** Numbers are kept; text is numbered in order of first appearance. */
function numbered(rows: readonly CsvRow[], column: number, name: string): Pick<CsvTable, 'labels' | 'classNames'> {
  const cells = rows.map((row) => row.cells[column]!);
  const filled = cells.filter((cell) => cell !== '');
  if (filled.length === 0 || filled.some((cell) => csvNumber(cell) === undefined)) {
    const classNames = [...new Set(cells)];
    return { labels: cells.map((cell) => classNames.indexOf(cell)), classNames };
  }
  const labels = rows.map(({ cells: of, line }) => {
    const label = csvInteger(of[column]!);
    if (label !== undefined) return label;
    const what = of[column] === '' ? ' is an empty label' : ` is a label and not a whole number: ${shown(of[column]!)}`;
    return refuse(name, place(line, column) + what, 'give labelColumn none if there are no labels');
  });
  return { labels, classNames: undefined };
}

/** Whether all labels from the second row on are numbers, but not the first: names of columns that look like numbers. */
function firstIsHeaderOfLabels(rows: readonly CsvRow[], column: number): boolean {
  if (rows.length < 2 || csvNumber(rows[0]!.cells[column]!) !== undefined) return false;
  const others = rows.slice(1).map(({ cells }) => cells[column] ?? '');
  return others.some((cell) => cell !== '') && others.every((cell) => cell === '' || csvNumber(cell) !== undefined);
}

export function parseCsv(bytes: Uint8Array, labelColumn: number | string, name: string): CsvTable {
  const source = new CsvRows(asText(bytes, name), name);
  let rows = [...source];
  if (rows.length === 0) return refuse(name, 'has no rows', 'give a row of comma-separated numbers per point');
  const width = rows[0]!.cells.length;
  const { index, named } = columnOf(labelColumn, rows[0]!.cells, name);
  const columns = Array.from({ length: width }, (_, i) => i).filter((i) => i !== index);
  if (named || columns.every((i) => csvNumber(rows[0]!.cells[i]!) === undefined)) rows = rows.slice(1);
  else if (index !== undefined && firstIsHeaderOfLabels(rows, index)) rows = rows.slice(1);
  if (rows.length === 0) refuse(name, 'has a header and no rows', 'give a row of comma-separated numbers per point');
  const values: number[] = [];
  for (const row of rows) {
    requireWidth(row, width, name);
    for (const column of columns) values.push(featureOf(row, column, source.separator, name));
  }
  const labels = index === undefined ? { labels: undefined, classNames: undefined } : numbered(rows, index, name);
  return { values, count: rows.length, features: columns.length, ...labels };
}

/** One whole number per line. Blank lines are skipped. */
export function parseLabelLines(bytes: Uint8Array, name: string): number[] {
  return [...new CsvRows(asText(bytes, name), name)].map(({ cells, line }) => {
    const label = cells.length === 1 ? csvInteger(cells[0]!) : undefined;
    return label ?? refuse(name, `${place(line, 0)} is not one whole number`, 'give one label per line');
  });
}
