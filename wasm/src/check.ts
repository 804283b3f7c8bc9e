// SPDX-License-Identifier: MIT
// What Model.check takes and returns.
import type { CallOptions } from './types.js';

/** What a check is given besides the points. */
export interface CheckOptions extends CallOptions {
  /** [N] classes: with them, accuracies are compared. */
  labels?: ArrayLike<number>;
  /** Noise scales, to compare with the range of the data. */
  sigma?: number | ArrayLike<number>;
}

/** Options of the library that repair a finding: values to add by name, and names to leave out. */
export interface CheckRemedy {
  add: Record<string, string>;
  leave_out: string[];
}

/** Whether data, preprocessing, layout and labels suit a model (docs/check.md). */
export interface CheckReport {
  /** Whether there is a warning. */
  suspicious: boolean;
  /** The report for people, several lines. */
  words: string;
  points: number;
  classes: number;
  /** As given; null without labels. */
  accuracy: number | null;
  correct: number | null;
  alternatives: {
    name: string;
    options: CheckRemedy;
    points: number;
    correct: number;
    gained: number;
    lost: number;
    p_value: number;
    better: boolean;
  }[];
  findings: { severity: 'warning' | 'note'; kind: string; text: string; options: CheckRemedy }[];
  /** All options to add. */
  options: CheckRemedy;
}
