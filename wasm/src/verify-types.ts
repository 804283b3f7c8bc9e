// SPDX-License-Identifier: MIT
import type { CallOptions, Numbers } from './types.js';

export interface VerifyOptions extends CallOptions {
  /** Points [N, ...] of your data. */
  x?: Numbers;
}

/** Differences between the logits of two models. */
export interface Verification {
  /** Points compared. */
  points: number;
  /** The largest absolute difference of two logits; Infinity if one of them is NaN. */
  largest: number;
  /** `largest` divided by the largest absolute logit. */
  relative: number;
  /** The largest differences: the worst class of each of the worst points, at most five, worst first. */
  worst: { point: number; class: number; own: number; other: number; difference: number }[];
  /** Whether the predicted classes are the same at all points. */
  argmaxAgrees: boolean;
  /** Indices of points with different predicted classes. */
  disagreements: number[];
}
