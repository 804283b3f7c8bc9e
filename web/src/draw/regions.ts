// SPDX-License-Identifier: MIT
// Decision regions: a colour and a pattern for each class, and lines at which the prediction changes.
import { contours } from 'd3-contour';
import { classAt, marginsOf, type Field } from './field.js';
import { mix, packed, type Palette } from './palette.js';
import { roomiest, type Place } from './places.js';
import { toData, toPixel, type View } from './view.js';

/** Opacity of a class's colour in its region and in its pattern. Dark backgrounds need more. */
const strength = { light: 0.18, dark: 0.27 };
const patternStrength = { light: 0.3, dark: 0.4 };

/**
 * For each class, whether its pattern covers the pixel. Patterns distinguish regions without colours. Distances are in CSS
 * pixels.
 */
const patterns: ((x: number, y: number) => boolean)[] = [
  () => false,
  (x, y) => (x + y) % 14 < 1,
  (x, y) => (x % 12) ** 2 + (y % 12) ** 2 < 2,
  (x, y) => (x - y + 9800) % 14 < 1,
  (_, y) => y % 12 < 1,
  (x) => x % 12 < 1,
];

/** Paints an image of `size` pixels per side, with `density` pixels per CSS pixel. */
export function paintRegions(field: Field, view: View, size: number, density: number, palette: Palette): ImageData {
  const image = new ImageData(size, size);
  const words = new Uint32Array(image.data.buffer);
  const scheme = palette.paper[1] < 128 ? 'dark' : 'light';
  const plain = palette.classes.map((colour) => packed(mix(palette.paper, colour, strength[scheme]), 255));
  const marked = palette.classes.map((colour) => packed(mix(palette.paper, colour, patternStrength[scheme]), 255));
  for (let row = 0, at = 0; row < size; ++row) {
    for (let column = 0; column < size; ++column) {
      const [x, y] = toData(view, size, column + 0.5, row + 0.5);
      const c = classAt(field, x, y) % palette.classes.length;
      words[at++] = patterns[c]!(column / density, row / density) ? marked[c]! : plain[c]!;
    }
  }
  return image;
}

/** The boundaries of all regions as one path, in pixels. */
export function boundaries(field: Field, view: View, size: number): Path2D {
  const path = new Path2D();
  const zero = contours().size([field.size, field.size]);
  // With two classes, both have the same boundary.
  const count = field.classes === 2 ? 1 : field.classes;
  for (let c = 0; c < count; ++c) {
    for (const ring of zero.contour(Array.from(marginsOf(field, c)), 0).coordinates.flat()) {
      ring.forEach(([column, row], i) => {
        // d3-contour measures from cell corners; the grid points are the cells' centres.
        const [px, py] = toPixel(view, size, field.x0 + (column! - 0.5) * field.step, field.y0 + (row! - 0.5) * field.step);
        if (i === 0) path.moveTo(px, py);
        else path.lineTo(px, py);
      });
    }
  }
  return path;
}

/** Where to write the classes' names: in each region, the point farthest from other regions. */
export function namePlaces(field: Field, view: View): Place[] {
  const side = 25;
  const at = (i: number) => -view.reach + ((i + 0.5) / side) * 2 * view.reach;
  const places = Array.from({ length: side * side }, (_, k) => {
    const [x, y] = [view.cx + at(k % side), view.cy + at(Math.floor(k / side))];
    return { x, y, of: classAt(field, x, y) };
  });
  // A name may be nearer to the edge of the picture than to another region.
  const toEdge = ({ x, y }: Place) => 1.6 * (view.reach - Math.max(Math.abs(x - view.cx), Math.abs(y - view.cy)));
  return roomiest(places, toEdge, 0.12 * view.reach);
}
