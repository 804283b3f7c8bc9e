// SPDX-License-Identifier: MIT
// The options and the result of Model.pGradient.
import type { NoiseModel } from './noise-types.js';
import type { NoiseOptions, PointOptions } from './types.js';

export interface PGradientOptions extends NoiseOptions, PointOptions {
  /** One additive noise model. */
  noise: NoiseModel;
  /**
   * 'taylor' (the default), 'taylor_mvs', 'adf', 'mmse:N', 'mmse_mvs:N' and their variants: the exact derivative of this
   * estimator's own p. 'mc:N': an unbiased estimate for the true p.
   */
  estimator?: string;
  /** Receives what the gradients ignore, such as that the noise is not Gaussian; by default, warnings go to the console. */
  onWarning?: (warning: string) => void;
}

/** The gradients of p with respect to points x [N, ...]. */
export interface PGradient {
  /** [N, ...] row-major, as x: dp/dx. */
  gradient: Float32Array;
  /** [N, ...] With 'mc:N': the standard errors of the gradients. */
  stdError?: Float32Array;
  /** [N] p of the same estimator. */
  p: Float64Array;
}
