// SPDX-License-Identifier: MIT
// Tints the noise that changes the prediction, cell by cell: the opacity of a cell increases with the density of the noise. Cells
// are in the coordinates of the noise. The density-weighted share of the tinted cells approximates 1 - p, which tests check.
import { classAt, type Field } from './field.js';
import { packed, type Palette } from './palette.js';
import { axes, type Pair, type Spread } from './view.js';

/** Cells per side. */
const cells = 176;

/** The cells extend to this many standard deviations; at most 2e-4 of the noise is outside. Densities are relative to their maximum. */
const profiles: Record<Spread['noise'], { reach: number; density(at: number): number }> = {
  gaussian: { reach: 4.1, density: (at) => Math.exp(-0.5 * at ** 2) },
  uniform: { reach: Math.sqrt(3), density: () => 1 },
  laplace: { reach: 6.5, density: (at) => Math.exp(-Math.SQRT2 * Math.abs(at)) },
};

export interface Tint {
  image: ImageData;
  /** Density-weighted share of the cells whose prediction differs. */
  mass: number;
}

/** Opacity of a cell, 0 to 255: noise of low density stays visible, but fades out before the edge of the cells. */
const alpha = (weight: number): number => Math.min(1, weight * 40) * (18 + 195 * weight ** 0.75);

interface Grid {
  /** The centre of each column or row of cells in standard deviations. */
  place: Float64Array;
  /** [cells, cells] the density in each cell. `all` is the sum of these densities. */
  weight: Float64Array;
  all: number;
  /** [cells, cells] the opacity of each cell, as the alpha byte of a pixel. */
  opacity: Uint32Array;
}

function gridFor(noise: Spread['noise']): Grid {
  const { reach, density } = profiles[noise];
  const place = Float64Array.from({ length: cells }, (_, i) => ((2 * i + 1) / cells - 1) * reach);
  const each = place.map(density);
  const weight = Float64Array.from({ length: cells * cells }, (_, k) => each[k % cells]! * each[Math.floor(k / cells)]!);
  const all = weight.reduce((sum, one) => sum + one);
  return { place, weight, all, opacity: Uint32Array.from(weight, (one) => Math.round(alpha(one)) << 24) };
}

const grids: Partial<Record<Spread['noise'], Grid>> = {};

/** With clipping, each cell has the prediction of the clipped sample. */
export function paintTint(field: Field, at: Pair, noise: Spread, target: number, palette: Palette): Tint {
  const image = new ImageData(cells, cells);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = palette.classes.map((colour) => packed(colour, 0));
  const { long, short } = axes(noise);
  const { place, weight, all, opacity } = (grids[noise.noise] ??= gridFor(noise.noise));
  const [low, high] = noise.clip ?? [-Infinity, Infinity];
  let other = 0;
  for (let j = 0, to = 0; j < cells; ++j) {
    const [x0, y0] = [at[0] + place[j]! * short[0], at[1] + place[j]! * short[1]];
    for (let i = 0; i < cells; ++i, ++to) {
      const x = x0 + place[i]! * long[0];
      const y = y0 + place[i]! * long[1];
      const answer = classAt(field, x < low ? low : x > high ? high : x, y < low ? low : y > high ? high : y);
      if (answer === target) continue;
      other += weight[to]!;
      pixels[to] = opacity[to]! | colours[answer % colours.length]!;
    }
  }
  return { image, mass: other / all };
}

/** Draws the cells at their place in the plane. `scale` is in pixels per unit of the data. */
export function drawTint(ctx: CanvasRenderingContext2D, tint: CanvasImageSource, middle: Pair, noise: Spread, scale: number) {
  const { long, short } = axes(noise);
  const k = (scale * profiles[noise.noise].reach) / (cells / 2);
  ctx.save();
  ctx.transform(k * long[0], -k * long[1], k * short[0], -k * short[1], middle[0], middle[1]);
  ctx.drawImage(tint, -cells / 2, -cells / 2);
  ctx.restore();
}
