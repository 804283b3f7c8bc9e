// SPDX-License-Identifier: MIT
import type { CallOptions, Numbers } from './types.js';

export interface VerifyOptions extends CallOptions {
  /** Points [N, ...] of your data. */
  x?: Numbers;
}

/** The differences between the logits of two models. */
export interface Verification {
  /** The number of points compared. */
  points: number;
  /** The largest absolute difference of two logits; Infinity if one of them is NaN. */
  largest: number;
  /** `largest` divided by the largest absolute logit. */
  relative: number;
  /** The points (at most five) with the largest differences, largest first, each with the class of its largest difference. */
  worst: { point: number; class: number; own: number; other: number; difference: number }[];
  /** Whether the predicted classes are the same at all points. */
  argmaxAgrees: boolean;
  /** Indices of the points with different predicted classes. */
  disagreements: number[];
}
