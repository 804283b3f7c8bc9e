// SPDX-License-Identifier: MIT
// The noise of the 2-D lab as options of the package.
import type { NamedArray } from 'probust';
import { axes, type Ellipse } from '../../draw/view.js';

export interface Noise {
  noise: string;
  arrays?: Record<string, NamedArray>;
}

/** A full covariance if the ellipse is not a circle. */
export function noiseOf({ sigma, ratio, angle }: Ellipse): Noise {
  if (ratio === 1) return { noise: `gaussian:${sigma}` };
  const { long, short } = axes({ sigma: 1, ratio, angle });
  const entry = (i: 0 | 1, j: 0 | 1) => long[i] * long[j] + short[i] * short[j];
  const data = [entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)];
  return { noise: `gaussian:cov=shape:${sigma}`, arrays: { shape: { data, shape: [2, 2] } } };
}
