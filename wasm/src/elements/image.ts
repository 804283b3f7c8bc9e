// SPDX-License-Identifier: MIT
// Converts points that are images to pixels.
import type { Numbers } from '../types.js';

export interface Pixels {
  width: number;
  height: number;
  rgba: Uint8ClampedArray<ArrayBuffer>;
}

interface Layout {
  channels: number;
  height: number;
  width: number;
  /** Whether channels come last. */
  interleaved: boolean;
}

const least = 4; // pixels per side

function layoutOf(shape: readonly number[]): Layout | undefined {
  const sides = shape.length === 2 ? [1, ...shape] : shape;
  if (sides.length !== 3) return undefined;
  const [a, b, c] = sides as [number, number, number];
  const layout = [1, 3].includes(a)
    ? { channels: a, height: b, width: c, interleaved: false }
    : { channels: c, height: a, width: b, interleaved: true };
  return [1, 3].includes(layout.channels) && Math.min(layout.height, layout.width) >= least ? layout : undefined;
}

/** The image of a point; undefined if its shape is not that of an image. Values are scaled if some of them are outside 0..1. */
export function imageOf(x: Numbers, shape: readonly number[]): Pixels | undefined {
  const layout = layoutOf(shape);
  if (!layout) return undefined;
  const { channels, height, width, interleaved } = layout;
  const values = Array.from(x as ArrayLike<number>);
  const low = Math.min(0, ...values),
    high = Math.max(1, ...values);
  const rgba = new Uint8ClampedArray(width * height * 4).fill(255);
  for (let i = 0; i < width * height; ++i) {
    for (let c = 0; c < 3; ++c) {
      const channel = channels === 1 ? 0 : c;
      const value = values[interleaved ? i * channels + channel : channel * width * height + i]!;
      rgba[4 * i + c] = (255 * (value - low)) / (high - low);
    }
  }
  return { width, height, rgba };
}
