// SPDX-License-Identifier: MIT
// The check before an estimate: whether points, preprocessing and labels match the model.
import { usage } from './errors.js';
import type { EstimateOptions, Row } from './types.js';

/** What the module found: warnings, and a text for the note of every row, which may be ''. */
export interface Found {
  hint: string;
  warnings: string[];
}

export interface CheckWishes {
  checked: boolean;
  warn(warning: string): void;
}

/**
 * Points without labels are checked only if there are at least this many, because the check may have to load another part of
 * the module.
 */
const many = 20;

export function wishesOf({ check, onWarning, labels }: EstimateOptions, points: number): CheckWishes {
  if (check != null && typeof check !== 'boolean') throw usage('check is neither true nor false', 'give true or false');
  return { checked: check ?? (labels != null || points >= many), warn: receiverOf(onWarning) };
}

/** The receiver of warnings: the caller's function, or the console. */
export function receiverOf(onWarning: EstimateOptions['onWarning']): (warning: string) => void {
  if (onWarning != null && typeof onWarning !== 'function') throw usage('onWarning is not a function', 'give a function');
  return onWarning ?? ((warning) => console.warn(`probust: ${warning}`));
}

/** The class that is predicted for all points; undefined if predictions differ or there are labels. */
export function oneClassOf(rows: readonly Row[]): number | undefined {
  const [first] = rows;
  const same = first && rows.every(({ label, predicted }) => label === null && predicted === first.predicted);
  return same ? first.predicted : undefined;
}

export function addHint(rows: readonly Row[], hint: string): void {
  if (hint === '') return;
  for (const row of rows) row.note = row.note === null ? hint : `${row.note}; ${hint}`;
}
