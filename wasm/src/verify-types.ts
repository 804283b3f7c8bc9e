// SPDX-License-Identifier: MIT
import type { CallOptions, Numbers } from './types.js';

export interface VerifyOptions extends CallOptions {
  /** Points [N, ...] of your data. */
  x?: Numbers;
}

/** Differences between the logits of two models. */
export interface Verification {
  /** The number of points compared. */
  points: number;
  /** The largest absolute difference of two logits; Infinity if one of them is NaN. */
  largest: number;
  /** `largest` divided by the largest absolute logit. */
  relative: number;
  /** For each of the (at most five) points with the largest differences, largest first, the class with the largest difference. */
  worst: { point: number; class: number; own: number; other: number; difference: number }[];
  /** Whether the predicted classes are the same at all points. */
  argmaxAgrees: boolean;
  /** Indices of points with different predicted classes. */
  disagreements: number[];
}
