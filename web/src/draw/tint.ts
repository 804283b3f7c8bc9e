// SPDX-License-Identifier: MIT
// The share of the noise that changes the answer, as a tint: each cell's opacity grows with the noise density there. The counter
// shows the sum over the same cells, which lie in the noise's own coordinates, so that it can be checked against 1 - p.
import { classAt, type Field } from './field.js';
import { colourOf, type Palette } from './palette.js';
import { axes, type Pair, type Spread } from './view.js';

/** Cells per side. */
const cells = 176;

/** How many standard deviations the cells reach; at most 2e-4 of the noise is outside. Densities relative to their maximum. */
const profiles: Record<Spread['noise'], { reach: number; density(at: number): number }> = {
  gaussian: { reach: 4.1, density: (at) => Math.exp(-0.5 * at ** 2) },
  uniform: { reach: Math.sqrt(3), density: () => 1 },
  laplace: { reach: 6.5, density: (at) => Math.exp(-Math.SQRT2 * Math.abs(at)) },
};

export interface Tint {
  image: ImageData;
  /** Density-weighted share of the cells whose answer differs. */
  mass: number;
}

/** The centre of each cell in standard deviations, and the density there. */
const grids = Object.fromEntries(
  Object.entries(profiles).map(([noise, { reach, density }]) => {
    const place = Float64Array.from({ length: cells }, (_, i) => ((2 * i + 1) / cells - 1) * reach);
    return [noise, { place, density: place.map(density) }];
  }),
) as Record<Spread['noise'], Record<'place' | 'density', Float64Array>>;

/** Opacity of a cell, 0 to 255: thin noise stays visible, and fades out before the edge of the cells. */
const alpha = (weight: number): number => Math.min(1, weight * 40) * (18 + 195 * weight ** 0.75);

/** With clipping, each cell has the answer of the clipped copy. */
export function paintTint(field: Field, at: Pair, noise: Spread, target: number, palette: Palette): Tint {
  const image = new ImageData(cells, cells);
  const { data } = image;
  const { long, short } = axes(noise);
  const { place, density } = grids[noise.noise];
  const [low, high] = noise.clip ?? [-Infinity, Infinity];
  const clipped = (value: number) => Math.min(high, Math.max(low, value));
  let all = 0;
  let other = 0;
  for (let j = 0, to = 0; j < cells; ++j) {
    const v = place[j]!;
    for (let i = 0; i < cells; ++i, to += 4) {
      const u = place[i]!;
      const weight = density[i]! * density[j]!;
      all += weight;
      const x = clipped(at[0] + u * long[0] + v * short[0]);
      const y = clipped(at[1] + u * long[1] + v * short[1]);
      const answer = classAt(field, x, y);
      if (answer === target) continue;
      other += weight;
      const colour = colourOf(palette, answer);
      data[to] = colour[0];
      data[to + 1] = colour[1];
      data[to + 2] = colour[2];
      data[to + 3] = alpha(weight);
    }
  }
  return { image, mass: other / all };
}

/** Draws the cells at their place in the plane. `scale` is pixels per unit of the data. */
export function drawTint(ctx: CanvasRenderingContext2D, tint: CanvasImageSource, middle: Pair, noise: Spread, scale: number) {
  const { long, short } = axes(noise);
  const k = (scale * profiles[noise.noise].reach) / (cells / 2);
  ctx.save();
  ctx.transform(k * long[0], -k * long[1], k * short[0], -k * short[1], middle[0], middle[1]);
  ctx.drawImage(tint, -cells / 2, -cells / 2);
  ctx.restore();
}
