// SPDX-License-Identifier: MIT
// The types of Model.check.
import type { CallOptions } from './types.js';

/** Options of a check. */
export interface CheckOptions extends CallOptions {
  /** The labels [N], as class numbers. With labels, the check compares the accuracy with that under alternative options. */
  labels?: ArrayLike<number>;
  /** Noise scales that are compared with the range of the data. */
  sigma?: number | ArrayLike<number>;
}

/** The changes to the options that fix a finding: options to add, with their values, and the names of options to remove. */
export interface CheckRemedy {
  add: Record<string, string>;
  leave_out: string[];
}

/** Whether data, preprocessing, layout and labels match a model (docs/check.md). */
export interface CheckReport {
  /** Whether a finding is a warning. */
  suspicious: boolean;
  /** The report as text of several lines. */
  words: string;
  points: number;
  classes: number;
  /** The accuracy with the given options; null without labels. */
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
