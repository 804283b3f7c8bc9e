// SPDX-License-Identifier: MIT
// Rows in the format of the command line, described by rows.schema.json: names with underscores, numbers in full precision.
import { refuse } from '../arrays.js';
import { asText, CsvRows } from './csv-rows.js';
import { usage } from '../errors.js';
import type { Row, Status } from '../types.js';

/** The version of rows.schema.json that the rows conform to. */
export const rowsVersion = 1;

type Kind = 'whole' | 'number' | 'text';

/** A column: its name in files and in rows, its type, and whether it may be null. */
interface Column {
  name: string;
  key: keyof Row;
  kind: Kind;
  nullable: boolean;
  /** Whether rows of earlier versions lack the column. */
  added: boolean;
}

const column = (name: string, kind: Kind, nullable = false, added = false): Column => ({
  name,
  key: name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) as keyof Row,
  kind,
  nullable,
  added,
});

const columns: readonly Column[] = [
  column('index', 'whole'),
  column('label', 'whole', true),
  column('predicted', 'whole'),
  column('target', 'whole'),
  column('noise', 'text'),
  column('sigma', 'number', true),
  column('estimator', 'text'),
  column('p', 'number', true),
  column('p_fail', 'number', true),
  column('std_error', 'number', true),
  column('ci_low', 'number', true),
  column('ci_high', 'number', true),
  column('forwards', 'whole'),
  column('backwards', 'whole'),
  column('status', 'text'),
  column('method', 'text'),
  column('note', 'text', true),
  column('p_label', 'number', true, true),
  column('p_label_low', 'number', true, true),
  column('p_label_high', 'number', true, true),
];

const statuses: readonly Status[] = [
  ...(['ok', 'tie', 'decided', 'undecided', 'capped', 'bound', 'approximate', 'inexact'] as const),
  ...(['disagrees', 'degenerate', 'undefined', 'nonfinite', 'invalid', 'unsupported', 'resources', 'numerical'] as const),
];

function fits(value: unknown, { kind, nullable }: Column): boolean {
  if (value === null) return nullable;
  if (kind === 'text') return typeof value === 'string';
  return typeof value === 'number' && (kind === 'number' || Number.isInteger(value));
}

type Fields = Record<string, unknown>;

/** The row with the fields that were read from a file; `where` is the line. */
function rowOf(fields: Fields, where: string, name: string): Row {
  const row: Fields = {};
  for (const each of columns) {
    const value = fields[each.name] ?? (each.added ? null : fields[each.name]);
    if (value === undefined) refuse(`${where} of ${name}`, `has no ${each.name}`, 'use rows written by probust');
    if (!fits(value, each)) {
      refuse(`${where} of ${name}`, `has ${JSON.stringify(value)} as ${each.name}`, 'use rows written by probust');
    }
    row[each.key] = value;
  }
  if (!statuses.includes(row.status as Status)) {
    refuse(`${where} of ${name}`, `has the status '${String(row.status)}'`, `use one of ${statuses.join(', ')}`);
  }
  if (Array.isArray(fields.classes)) row.classes = [...(fields.classes as unknown[])];
  if (fields.model !== undefined) row.model = fields.model;
  return row as unknown as Row;
}

/** Values of columns that may be missing from rows that a program passes. */
const defaults: Fields = { index: 0, forwards: 0, backwards: 0, status: 'ok' };

/** A row whose names are either those in files or those of `Row`. */
function rowOfEither(given: unknown, where: string, name: string): Row {
  if (typeof given !== 'object' || given === null)
    refuse(`${where} of ${name}`, `is not an object`, 'pass the rows that estimate() returned');
  const fields: Fields = { ...given };
  for (const { name: written, key, nullable } of columns) {
    const value = fields[written] ?? fields[key] ?? defaults[written];
    fields[written] = value ?? (nullable ? null : undefined);
    if (nullable && Number.isNaN(value)) fields[written] = null;
  }
  fields.method ??= fields.estimator;
  return rowOf(fields, where, name);
}

/** Checks and copies rows that a program passes. */
export function checkedRows(given: unknown, name: string): Row[] {
  if (!Array.isArray(given)) refuse(name, 'is not a list', 'pass the rows that estimate() returned');
  return given.map((row, i) => rowOfEither(row, `row ${i + 1}`, name));
}

function parseLines(text: string, name: string): Row[] {
  const rows: Row[] = [];
  text.split(/\r?\n/).forEach((line, i) => {
    if (line.trim() === '') return;
    let fields: unknown;
    try {
      fields = JSON.parse(line);
    } catch {
      // Not an object, which is reported below.
    }
    if (typeof fields !== 'object' || fields === null) {
      refuse(`row ${i + 1} of ${name}`, `is not a JSON object`, 'use rows written by probust');
    }
    rows.push(rowOf(fields as Fields, `row ${i + 1}`, name));
  });
  return rows;
}

function cellOf(cell: string, { kind, nullable }: Column): unknown {
  if (cell === '') return nullable ? null : kind === 'text' ? '' : undefined;
  return kind === 'text' ? cell : Number(cell);
}

function parseTable(text: string, name: string): Row[] {
  const [header, ...rows] = [...new CsvRows(text, name)];
  if (!header) return [];
  const at = (wanted: string) => header.cells.indexOf(wanted);
  const classes = header.cells.flatMap((cell, i) => (cell.startsWith('p_class_') ? [i] : []));
  return rows.map(({ cells, line }) => {
    const fields: Fields = {};
    for (const each of columns) {
      if (at(each.name) >= 0) fields[each.name] = cellOf(cells[at(each.name)] ?? '', each);
    }
    if (at('model') >= 0) fields.model = cells[at('model')];
    const filled = classes.some((i) => cells[i] !== undefined && cells[i] !== '');
    if (filled) fields.classes = classes.map((i) => (cells[i] ? Number(cells[i]) : null));
    return rowOf(fields, `row ${line}`, name);
  });
}

/** The rows of a .jsonl or .csv file of the command line. */
export function parseRows(bytes: Uint8Array, name: string): Row[] {
  const text = asText(bytes, name);
  const rows = text.trimStart().startsWith('{') ? parseLines(text, name) : parseTable(text, name);
  if (rows.length === 0) refuse(name, 'has no rows', 'use rows written by probust');
  return rows;
}

/** Quotes a cell (RFC 4180). */
const quoted = (text: string): string => (/[,"\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function fieldsOf(row: Row): Fields {
  const fields: Fields = Object.fromEntries(columns.map(({ name, key }) => [name, row[key] ?? null]));
  if (row.model) fields.model = row.model;
  if (row.classes?.length) fields.classes = row.classes;
  return fields;
}

function table(rows: readonly Row[]): string {
  const models = rows.some(({ model }) => model);
  const classes = Math.max(...rows.map((row) => row.classes?.length ?? 0));
  const names = [...columns.map(({ name }) => name), ...(models ? ['model'] : [])];
  const header = [...names, ...Array.from({ length: classes }, (_, c) => `p_class_${c}`)];
  const lines = rows.map((row) => {
    const fields = fieldsOf(row);
    const values = [...names.map((name) => fields[name]), ...Array.from({ length: classes }, (_, c) => row.classes?.[c])];
    return values.map((value) => (value == null ? '' : quoted(String(value)))).join();
  });
  return [header.join(), ...lines, ''].join('\n');
}

/** Rows as a .jsonl or .csv file with the command line's columns. */
export function writeRows(rows: readonly Row[], format: 'jsonl' | 'csv' = 'jsonl'): string {
  if (format !== 'csv' && format !== 'jsonl') throw usage(`the format '${String(format)}' is not known`, 'use jsonl or csv');
  const checked = checkedRows(rows, 'rows');
  if (format === 'csv') return table(checked);
  return checked.map((row) => JSON.stringify(fieldsOf(row)) + '\n').join('');
}
