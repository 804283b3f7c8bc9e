// SPDX-License-Identifier: MIT
// The square of the plane that a picture shows, and the conversion between data and pixels.

export interface View {
  cx: number;
  cy: number;
  /** Half the side of the square. */
  reach: number;
}

export type Pair = [number, number];

/** Pixel position in a picture of `size` pixels per side; y points up in the data and down on the screen. */
export const toPixel = ({ cx, cy, reach }: View, size: number, x: number, y: number): Pair => [
  ((x - cx + reach) / (2 * reach)) * size,
  ((cy + reach - y) / (2 * reach)) * size,
];

export const toData = ({ cx, cy, reach }: View, size: number, px: number, py: number): Pair => [
  cx - reach + (px / size) * 2 * reach,
  cy + reach - (py / size) * 2 * reach,
];

/** The nearest point inside the picture. */
export const inside = ({ cx, cy, reach }: View, [x, y]: Pair): Pair => [
  Math.min(cx + reach, Math.max(cx - reach, x)),
  Math.min(cy + reach, Math.max(cy - reach, y)),
];

export const isInside = ({ cx, cy, reach }: View, [x, y]: Pair): boolean => Math.max(Math.abs(x - cx), Math.abs(y - cy)) <= reach;

/** The noise's ellipse at one standard deviation. */
export interface Ellipse {
  sigma: number;
  ratio: number;
  /** Direction of the long axis, in degrees. */
  angle: number;
}

/** The noise, of kind `noise`: independent along the two axes of the ellipse, with the half axes as standard deviations. */
export interface Spread extends Ellipse {
  noise: 'gaussian' | 'uniform' | 'laplace';
  /** The range to which both coordinates of noisy samples are clipped. */
  clip: readonly [number, number] | undefined;
}

/** The long and the short half axis: the columns of L, where L Lᵀ is the covariance of the noise. sigma is their root mean square. */
export function axes({ sigma, ratio, angle }: Ellipse): { long: Pair; short: Pair } {
  const short = sigma * Math.sqrt(2 / (1 + ratio * ratio));
  const turn = (angle * Math.PI) / 180;
  const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
  return { long: [ratio * short * cos, ratio * short * sin], short: [-short * sin, short * cos] };
}

const largestRatio = 8;
const bounded = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));

/** The ellipse with the end of one half axis moved to `away` (from the centre); the other half axis keeps its length. */
export function shapeTo(noise: Ellipse, end: 'long' | 'short', away: Pair): Ellipse {
  const half = axes(noise);
  const length = Math.hypot(...away);
  const other = Math.hypot(...half[end === 'long' ? 'short' : 'long']);
  // For a circle, the `long` handle changes only the size. The `short` handle turns a circle into an ellipse.
  if (end === 'long' && noise.ratio === 1) return { ...noise, sigma: bounded(length, 0.02, 1.6) };
  const ratio = bounded(end === 'long' ? length / other : other / length, 1, largestRatio);
  const short = end === 'long' ? length / ratio : other / ratio;
  const sigma = bounded(short * Math.sqrt((1 + ratio * ratio) / 2), 0.02, 1.6);
  if (end === 'short') return { ...noise, sigma, ratio };
  const angle = (Math.atan2(away[1], away[0]) * 180) / Math.PI;
  // Either end of an axis may be dragged, so angles are reduced to the range -90..90 degrees.
  return { sigma, ratio, angle: angle > 90 ? angle - 180 : angle < -90 ? angle + 180 : angle };
}
