// SPDX-License-Identifier: MIT
// The results of calls about decision boundaries.

/** Decision regions on a plane through x. Element [row * resolution + column]: t depends on the row, s on the column. */
export interface Slice {
  resolution: number;
  reach: number;
  /** [d] orthonormal directions. */
  u: Float64Array;
  v: Float64Array;
  /** [resolution²] predicted classes; -1 if logits are NaN. */
  predicted: Int32Array;
  /** [resolution²] margin of the target over its strongest rival, which is zero on the boundary. */
  margin: Float64Array;
}

/** Noisy samples of a point: exactly the samples that "mc:N" counts with the same seed and index. */
export interface Cloud {
  /** The samples [n, d], row-major, in the units of the data. */
  x: Float32Array;
  /** The predictions [n]: argmax of the logits; on a tie, the lowest index; -1 if logits are NaN. */
  predicted: Int32Array;
}

/** The nearest point found that has a different prediction. Its distance is exact for linear models, otherwise an upper bound. */
export interface NearestBoundary {
  /** The Euclidean distance in the units of the data; Infinity if no such point was found, NaN if logits are NaN. */
  distance: number;
  /** No nearer point has a different prediction: the distance itself for decision trees, for which it is exact; otherwise 0. */
  atLeast: number;
  /** The class predicted at that point; -1 if no point was found. */
  rival: number;
  /** [d] the step from x to just beyond the boundary; zeros if no point was found. */
  step: Float32Array;
  /** The passes spent on the search. */
  forwards: number;
  backwards: number;
}
