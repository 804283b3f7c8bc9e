// SPDX-License-Identifier: MIT
// Comma-separated values (RFC 4180): quoted cells, any line ending, with or without a header. Semicolons, tabs, vertical bars and
// blanks are also accepted as separators.
// Results and errors are the same as on the command line (native/datasets/csv_rows.cpp).
import { refuse } from '../arrays.js';

/** The number in a cell; undefined if there is none. "nan" and "inf" are numbers. */
export function csvNumber(cell: string): number | undefined {
  const text = /^\+[^-]/.test(cell) ? cell.slice(1) : cell;
  const word = /^(-?)(inf|infinity|nan)$/i.exec(text);
  if (word) return (word[1] ? -1 : 1) * (/^n/i.test(word[2]!) ? NaN : Infinity);
  if (!/^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return undefined;
  const value = Number(text);
  const lost = !Number.isFinite(value) || (value === 0 && /[1-9]/.test(text.replace(/e.*/i, '')));
  return lost ? undefined : value;
}

/** A cell as a number, with "True" and "False" as 1 and 0, as written by pandas, R and JavaScript. */
export function csvFeature(cell: string): number | undefined {
  if (/^(True|true|TRUE)$/.test(cell)) return 1;
  return /^(False|false|FALSE)$/.test(cell) ? 0 : csvNumber(cell);
}

/** A cell as a whole number ("3", "-1", "2.0"). */
export function csvInteger(cell: string): number | undefined {
  const value = csvNumber(cell);
  return value !== undefined && Math.abs(value) <= 2 ** 53 && Number.isInteger(value) ? value : undefined;
}

/** The start of a cell, in quotes, for an error message. */
export const shown = (cell: string): string => (cell.length <= 32 ? `'${cell}'` : `'${cell.slice(0, 32)}...'`);
export const place = (line: number, column: number): string => `row ${line}, column ${column + 1}`;

/** The bytes as text, without a byte order mark. */
export function asText(bytes: Uint8Array, name: string): string {
  const foreign = (c: number) => (c < 0x20 && c !== 9 && c !== 10 && c !== 13) || c === 0x7f;
  if (bytes.some(foreign)) refuse(name, 'is not text', 'give comma-separated numbers in UTF-8 or ASCII');
  return new TextDecoder().decode(bytes);
}

/** Whether blanks separate numbers in a line, as written by numpy.savetxt. (A name of two words contains no number.) */
function hasNumbersBetweenBlanks(line: string): boolean {
  const words = line.trim().split(/[ \t]+/);
  return words.length > 1 && words.some((word) => csvNumber(word) !== undefined);
}

/**
 * The separator: a semicolon if the first row has one outside quotes; otherwise the first comma, tab or vertical bar in it; otherwise
 * blanks, if they separate numbers in this row or the next.
 */
function separatorOf(text: string): string {
  const row = /^[\r\n]*((?:"[^"]*"|[^"\r\n])*)/.exec(text)![1]!.replace(/"[^"]*"/g, '');
  const found = [';', ',', '\t', '|'].find((separator) => row.includes(separator));
  if (found) return found;
  const lines = /^[\r\n]*([^\r\n]*)[\r\n]*([^\r\n]*)/.exec(text)!;
  return hasNumbersBetweenBlanks(lines[1]!) || hasNumbersBetweenBlanks(lines[2]!) ? ' ' : ',';
}

/** The position after the comment lines before the table. If the last one has as many cells as the next row, it is the header. */
function afterComments(text: string): number {
  let at = 0;
  for (;;) {
    const found = /^[ \t\r\n]*(#[^\r\n]*)[\r\n]*/.exec(text.slice(at));
    if (!found) return at;
    const next = /^[^\r\n]*/.exec(text.slice(at + found[0].length))![0];
    const separator = separatorOf(next);
    const cells = found[1]!.split(separator).length;
    if (separator !== ' ' && !next.startsWith('#') && cells > 1 && cells === next.split(separator).length) {
      return at + found[0].indexOf('#') + /^[# \t]*/.exec(found[1]!)![0].length;
    }
    at += found[0].length;
  }
}

/** A row, and the line of the file on which it begins, counted from 1. */
export interface CsvRow {
  cells: string[];
  line: number;
}

/** For each separator, a regular expression for the characters of an unquoted cell. */
const ends: Record<string, RegExp> = {
  ...{ ',': /[^\r\n,]*/y, ';': /[^\r\n;]*/y, '\t': /[^\r\n\t]*/y, '|': /[^\r\n|]*/y, ' ': /[^\r\n \t]*/y },
};

/** The non-blank rows of a text. */
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
    this.#at = afterComments(text);
    this.#line += text.slice(0, this.#at).split('\n').length - 1;
    const told = /^([\r\n]*)sep=([,;\t|])(?=[\r\n]|$)/.exec(text.slice(this.#at)); // a line for Excel, which names the separator
    this.separator = told?.[2] ?? separatorOf(text.slice(this.#at));
    if (told) {
      this.#at += told[0].length;
      this.#line += told[1]!.split('\n').length - 1;
    }
    this.#blanks = this.separator === '\t' ? / */y : /[ \t]*/y;
    this.#end = ends[this.separator]!;
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
    if (this.separator === ' ') this.#take(this.#blanks);
    const start = this.#at;
    this.#take(this.#blanks);
    if (this.#text[this.#at] === '"') return this.#quoted(row);
    this.#at = start;
    return this.#take(this.#end).replace(/^[ \t]+|[ \t]+$/g, '');
  }

  /** Reads a quoted cell, and replaces doubled quotes in it with single ones. */
  #quoted(row: number): string {
    const cell = this.#take(/"(?:[^"]|"")*/y).slice(1);
    if (this.#text[this.#at] !== '"') refuse(`row ${row} of ${this.#name}`, 'has a quote that is never closed');
    this.#line += cell.split('\n').length - 1;
    ++this.#at;
    this.#take(this.#blanks);
    const next = this.#text[this.#at];
    if (this.separator !== ' ' && next !== undefined && !['\r', '\n', this.separator].includes(next)) {
      refuse(`row ${row} of ${this.#name}`, 'has text after a closing quote');
    }
    return cell.replaceAll('""', '"');
  }

  /** Skips the end of a cell. Returns whether it was a separator. */
  #separated(): boolean {
    if (this.separator === ' ') this.#take(this.#blanks);
    const next = this.#text[this.#at];
    if (next === undefined) return false;
    if (this.separator === ' ' && next !== '\r' && next !== '\n') return true;
    if (next !== this.separator) ++this.#line;
    this.#at += this.#text.startsWith('\r\n', this.#at) ? 2 : 1;
    return next === this.separator;
  }
}
