// SPDX-License-Identifier: MIT
// Paints a direction in image space, and the regions of a plane through an image.
import { contours } from 'd3-contour';
import type { Slice } from 'probust';
import { colourCount } from '../../draw/classes.js';
import { colourOf, mix, type Palette } from '../../draw/palette.js';
import { roomiest, type Place } from '../../draw/places.js';
import type { Shape } from './picture.js';

/** Pixels that become brighter are warm, darker ones cold; unchanged pixels have the colour of the background. */
export function paintDirection({ channels, height, width }: Shape, step: ArrayLike<number>, palette: Palette): ImageData {
  const area = height * width;
  const image = new ImageData(width, height);
  const sums = Float32Array.from({ length: area }, (_, i) => {
    let sum = 0;
    for (let c = 0; c < channels; ++c) sum += step[c * area + i]!;
    return sum;
  });
  const most = sums.reduce((largest, value) => Math.max(largest, Math.abs(value)), 1e-12);
  const [warm, cold] = [palette.classes[5]!, palette.classes[0]!];
  sums.forEach((value, i) =>
    image.data.set([...mix(palette.paper, value > 0 ? warm : cold, Math.abs(value) / most), 255], 4 * i),
  );
  return image;
}

/** If there are more classes than colours, each cycle through the colours has its own pattern. */
const patterns: ((x: number, y: number) => boolean)[] = [
  () => false,
  (x, y) => (x + y) % 6 < 2,
  (x, y) => x % 5 < 2 && y % 5 < 2,
  (x) => x % 6 < 2,
];

/** The CSS pattern of a class, for its bar. */
export const patternOf = (of: number): string =>
  [
    'none',
    'repeating-linear-gradient(135deg, var(--paper) 0 2px, transparent 2px 6px)',
    'repeating-linear-gradient(45deg, var(--paper) 0 1px, transparent 1px 4px)',
    'repeating-linear-gradient(90deg, var(--paper) 0 2px, transparent 2px 6px)',
  ][Math.floor(of / colourCount) % 4]!;

const strength = 0.34;

/** Paints the plane with `size` pixels per side, with t upwards. */
export function paintPlane({ predicted, resolution }: Slice, size: number, palette: Palette): ImageData {
  const image = new ImageData(size, size);
  for (let row = 0, at = 0; row < size; ++row) {
    const t = Math.round(((size - 1 - row) / (size - 1)) * (resolution - 1));
    for (let column = 0; column < size; ++column, at += 4) {
      const of = predicted[t * resolution + Math.round((column / (size - 1)) * (resolution - 1))]!;
      const marked = of >= 0 && patterns[Math.floor(of / colourCount) % patterns.length]!(column, row);
      const colour = of < 0 ? palette.muted : colourOf(palette, of);
      image.data.set([...mix(palette.paper, colour, marked ? strength / 3 : strength), 255], at);
    }
  }
  return image;
}

/** The boundary of the predicted class as an SVG path, in a picture of `size` per side. */
export function boundaryPath({ margin, resolution }: Slice, size: number): string {
  const scale = size / (resolution - 1);
  const at = ([column, row]: readonly number[]) =>
    `${((column! - 0.5) * scale).toFixed(1)} ${(size - (row! - 0.5) * scale).toFixed(1)}`;
  const { coordinates } = contours().size([resolution, resolution]).contour(Array.from(margin), 0);
  // Rings also run along the edge of the picture, which is not a boundary. The picture's frame hides that part.
  return coordinates
    .flat()
    .map((ring) => `M${ring.map((each) => at(each as number[])).join('L')}Z`)
    .join('');
}

/** Where to write the classes' names in a picture of `size` per side: for each class, the point farthest from other classes. */
export function planeNames({ predicted, resolution }: Slice, size: number): Place[] {
  const stride = Math.max(1, Math.floor(resolution / 24));
  const places: Place[] = [];
  for (let y = 0; y < resolution; y += stride) {
    for (let x = 0; x < resolution; x += stride) places.push({ of: predicted[y * resolution + x]!, x, y });
  }
  const toEdge = ({ x, y }: Place) => 1.6 * Math.min(x, y, resolution - 1 - x, resolution - 1 - y);
  const scale = size / (resolution - 1);
  return roomiest(places, toEdge, 0.06 * resolution).map(({ of, x, y }) => ({ of, x: x * scale, y: size - y * scale }));
}
