// SPDX-License-Identifier: MIT
// The noise of the 2-D lab as options of the package.
import type { NamedArray } from 'probust';
import { axes, type Ellipse, type Spread } from '../../draw/view.js';
import type { State } from '../../state/state.js';

/** The range of the 2-D lab's sensor, for both coordinates. Noisy samples are clipped to it. */
export const sensor: readonly [number, number] = [-1.2, 1.2];

export interface Noise {
  noise: string;
  arrays?: Record<string, NamedArray>;
  clip?: readonly [number, number];
}

type NoiseState = Readonly<Pick<State, 'noise' | 'clip' | keyof Ellipse>>;

/**
 * The noise as an ellipse. Only Gaussian noise can be an ellipse that is not a circle; the coordinates of other noise are
 * independent.
 */
export function spreadOf({ noise, clip, sigma, ratio, angle }: NoiseState): Spread {
  const ellipse = noise === 'gaussian' ? { ratio, angle } : { ratio: 1, angle: 0 };
  return { noise, sigma, ...ellipse, clip: clip ? sensor : undefined };
}

/** Gaussian noise, with a full covariance if the ellipse is not a circle. */
function gaussian({ sigma, ratio, angle }: Ellipse): Noise {
  if (ratio === 1) return { noise: `gaussian:${sigma}` };
  const { long, short } = axes({ sigma: 1, ratio, angle });
  const entry = (i: 0 | 1, j: 0 | 1) => long[i] * long[j] + short[i] * short[j];
  const data = [entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)];
  return { noise: `gaussian:cov=shape:${sigma}`, arrays: { shape: { data, shape: [2, 2] } } };
}

/** Rounds half-widths and Laplace scales, so that their texts are short. */
const rounded = (value: number): number => Number(value.toPrecision(6));

/**
 * sigma is the standard deviation of each coordinate: the half-width of uniform noise divided by √3, or the Laplace scale times
 * √2.
 */
export function noiseOf(state: NoiseState): Noise {
  const { noise, sigma, clip } = spreadOf(state);
  const clipped = clip ? { clip } : {};
  if (noise === 'uniform') return { noise: `uniform:${rounded(sigma * Math.sqrt(3))}`, ...clipped };
  if (noise === 'laplace') return { noise: `laplace:${rounded(sigma / Math.SQRT2)}`, ...clipped };
  return { ...gaussian(state), ...clipped };
}
