// SPDX-License-Identifier: MIT
// Prints rows as a table in the format of the native program.
import type { Row } from '../src/index.js';

/** A number with an exponent of at least two digits, as printf writes it. */
const scientific = (value: number, digits: number): string =>
  value.toExponential(digits).replace(/e([+-])(\d)$/, (_, sign: string, digit: string) => `e${sign}0${digit}`);

function probability(p: number | null): string {
  if (p === null || !Number.isFinite(p)) return '-';
  return p !== 0 && p < 1e-3 ? scientific(p, 2) : p.toFixed(4);
}

function failure({ p, pFail, status, ciLow, stdError }: Row): string {
  if (p === null || pFail === null) return '-';
  if (p + pFail > 1 + 1e-8 || status === 'bound') {
    return `<${pFail < 1e-3 ? scientific(pFail, 1) : String(Number(pFail.toPrecision(2)))}`;
  }
  const error = ciLow === null ? 2 * (stdError ?? 0) : 1 - ciLow;
  return pFail < 0.01 * error && pFail < 1e-3 ? scientific(pFail, 0) : probability(pFail);
}

function uncertainty({ ciLow, ciHigh, stdError }: Row): string {
  if (ciLow !== null && ciHigh !== null) return `${ciLow.toFixed(4)}..${ciHigh.toFixed(4)}`;
  return stdError === null ? '-' : `+- ${probability(stdError)}`;
}

const widths = [6, 10, 10, 13, -10, 8, 8, 15, 7, -1];

function line(cells: readonly string[]): string {
  const padded = cells.map((cell, i) => (widths[i]! > 0 ? cell.padStart(widths[i]!) : ` ${cell.padEnd(-widths[i]!)}`));
  return padded.join(' ') + '\n';
}

export function table(rows: readonly Row[], classNames: readonly string[] = []): string {
  const name = (c: number): string => classNames[c]?.slice(0, 10) ?? String(c);
  const explained = (row: Row): string => {
    let text: string = row.status;
    if (row.method !== row.estimator) text += `, by ${row.method}`;
    if (row.note !== null) text += `: ${row.note}`;
    if (row.target !== row.predicted) text += `, target ${name(row.target)}`;
    if (row.pLabel != null && row.label !== null && row.label !== row.target) {
      text += `, p of the label ${probability(row.pLabel)}`;
    }
    return text;
  };
  const likeliest = (classes: readonly (number | null)[]): string => {
    const order = classes.map((p, c) => [p ?? 0, c] as const).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
    const shown = order.slice(0, 5).filter(([p]) => p >= 0.00005);
    return `        classes: ${shown.map(([p, c]) => `${name(c)} ${probability(p)}`).join(', ')}\n`;
  };
  const header = ['index', 'label', 'predicted', 'noise', 'estimator', 'p', 'p_fail', '95% or +- s.e.', 'passes', 'status'];
  return (
    line(header) +
    rows
      .map((row) => {
        const label = row.label === null ? '-' : name(row.label);
        const start = [String(row.index), label, name(row.predicted), row.noise, row.estimator];
        const numbers = [probability(row.p), failure(row), uncertainty(row), String(row.forwards + row.backwards)];
        return line([...start, ...numbers, explained(row)]) + (row.classes ? likeliest(row.classes) : '');
      })
      .join('')
  );
}
