// SPDX-License-Identifier: MIT
// The network's logits on a square grid. Pictures interpolate between grid points, so that a dragged point can be drawn
// without waiting for a worker.
import type { View } from './view.js';

export interface Field {
  /** The lower left grid point. */
  x0: number;
  y0: number;
  step: number;
  /** Grid points per side. */
  size: number;
  classes: number;
  /** [size, size, classes], rows from the bottom up. */
  logits: Float32Array;
}

type Grid = Omit<Field, 'classes' | 'logits'>;

/** The grid extends beyond the view, because noisy samples may be outside it. */
export function gridOf({ cx, cy, reach }: View, size: number, beyond = 2): Grid {
  const half = reach * beyond;
  return { x0: cx - half, y0: cy - half, step: (2 * half) / (size - 1), size };
}

export function gridPoints({ x0, y0, step, size }: Grid): Float32Array {
  const points = new Float32Array(2 * size * size);
  for (let row = 0, at = 0; row < size; ++row) {
    for (let column = 0; column < size; ++column) {
      points[at++] = x0 + column * step;
      points[at++] = y0 + row * step;
    }
  }
  return points;
}

const clamp = (value: number, high: number) => (value < 0 ? 0 : value > high ? high : value);

/** The class at (x, y), from logits interpolated between the four nearest grid points. */
export function classAt({ x0, y0, step, size, classes, logits }: Field, x: number, y: number): number {
  const column = clamp((x - x0) / step, size - 1.000001);
  const row = clamp((y - y0) / step, size - 1.000001);
  const i = column | 0;
  const j = row | 0;
  const s = column - i;
  const t = row - j;
  const below = (j * size + i) * classes;
  const above = below + size * classes;
  let best = 0;
  let largest = -Infinity;
  for (let c = 0; c < classes; ++c) {
    const low = logits[below + c]! * (1 - s) + logits[below + classes + c]! * s;
    const high = logits[above + c]! * (1 - s) + logits[above + classes + c]! * s;
    const value = low * (1 - t) + high * t;
    if (value > largest) {
      largest = value;
      best = c;
    }
  }
  return best;
}

/** [size, size] margins of a class over its strongest rival: zero on the boundary of its region. */
export function marginsOf({ size, classes, logits }: Field, of: number): Float32Array {
  const margins = new Float32Array(size * size);
  for (let at = 0; at < margins.length; ++at) {
    let rival = -Infinity;
    for (let c = 0; c < classes; ++c) {
      if (c !== of) rival = Math.max(rival, logits[at * classes + c]!);
    }
    margins[at] = logits[at * classes + of]! - rival;
  }
  return margins;
}
