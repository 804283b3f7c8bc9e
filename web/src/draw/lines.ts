// SPDX-License-Identifier: MIT
// The linearised classifier: a straight line for each rival class, and the intersection of their half-planes.
import { letter, rivalOf } from './classes.js';
import { colourOf, css, mix, type Palette, type Rgb } from './palette.js';
import { toPixel, type Pair, type View } from './view.js';

export interface Line {
  /** The class on the other side. */
  rival: number;
  /** The point of the line that is nearest to x. */
  foot: Pair;
  /** Unit vector along the line. */
  along: Pair;
  /** Unit normal towards the side on which the prediction survives. */
  kept: Pair;
}

/** The line on which margin + gradient (y - at) is zero, for each rival. */
export function linesOf(at: Pair, target: number, margins: Float64Array, gradients: Float32Array): Line[] {
  return Array.from(margins, (margin, row) => {
    const [gx, gy] = [gradients[2 * row]!, gradients[2 * row + 1]!];
    const length = Math.hypot(gx, gy);
    const step = -margin / length ** 2;
    return {
      rival: rivalOf(row, target),
      foot: [at[0] + step * gx, at[1] + step * gy] as Pair,
      along: [-gy / length, gx / length] as Pair,
      kept: [gx / length, gy / length] as Pair,
    };
  }).filter(({ foot }) => foot.every(Number.isFinite));
}

interface LineStyle {
  dashed: boolean;
  opacity: number;
  /** The class whose line is highlighted. */
  lit: number | undefined;
}

export function drawLines(
  ctx: CanvasRenderingContext2D,
  size: number,
  view: View,
  lines: readonly Line[],
  style: LineStyle,
  palette: Palette,
) {
  const far = 4 * view.reach;
  ctx.save();
  for (const { rival, foot, along } of lines) {
    const lit = style.lit === rival;
    ctx.globalAlpha = style.opacity * (style.lit === undefined || lit ? 1 : 0.25);
    const ends = [-far, far].map((t) => toPixel(view, size, foot[0] + t * along[0], foot[1] + t * along[1]));
    // A halo in the background colour separates the line from a region of the same colour.
    stroke(ctx, ends as [Pair, Pair], [], lit ? 6 : 4.5, css(palette.paper, 0.8));
    stroke(ctx, ends as [Pair, Pair], style.dashed ? [9, 6] : [], lit ? 3.5 : 2.25, css(strong(palette, rival)));
  }
  ctx.restore();
}

function stroke(ctx: CanvasRenderingContext2D, [from, to]: [Pair, Pair], dash: number[], width: number, colour: string) {
  ctx.beginPath();
  ctx.moveTo(...from);
  ctx.lineTo(...to);
  ctx.setLineDash(dash);
  ctx.lineWidth = width;
  ctx.strokeStyle = colour;
  ctx.stroke();
  ctx.setLineDash([]);
}

/** The class's colour, mixed with the text colour: thin lines need more contrast than areas. */
const strong = (palette: Palette, of: number): Rgb => mix(colourOf(palette, of), palette.ink, 0.22);

/** Labels each line near its point nearest to x, if that point is in the picture. */
export function labelLines(ctx: CanvasRenderingContext2D, size: number, view: View, lines: readonly Line[], palette: Palette) {
  ctx.save();
  ctx.font = '600 12px system-ui, sans-serif';
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  for (const { rival, foot, along } of lines) {
    const shift = view.reach * 0.32;
    const [x, y] = toPixel(view, size, foot[0] + shift * along[0], foot[1] + shift * along[1]);
    if (x < 12 || y < 12 || x > size - 12 || y > size - 12) continue;
    ctx.beginPath();
    ctx.arc(x, y, 9.5, 0, 2 * Math.PI);
    ctx.fillStyle = css(palette.paper);
    ctx.fill();
    ctx.lineWidth = 2;
    ctx.strokeStyle = css(strong(palette, rival));
    ctx.stroke();
    ctx.fillStyle = css(palette.ink);
    ctx.fillText(letter(rival), x, y + 0.5);
  }
  ctx.restore();
}

/** The view's square cut by every half-plane: the region in which, according to the estimator, the prediction survives. */
function intersection(view: View, lines: readonly Line[]): Pair[] {
  const { cx, cy, reach } = view;
  let corners: Pair[] = [
    [cx - reach, cy - reach],
    [cx + reach, cy - reach],
    [cx + reach, cy + reach],
    [cx - reach, cy + reach],
  ];
  for (const { foot, kept } of lines) {
    const height = ([x, y]: Pair) => (x - foot[0]) * kept[0] + (y - foot[1]) * kept[1];
    corners = corners.flatMap((corner, i) => {
      const next = corners[(i + 1) % corners.length]!;
      const [a, b] = [height(corner), height(next)];
      const cut: Pair[] =
        a * b < 0 ? [[corner[0] + ((next[0] - corner[0]) * a) / (a - b), corner[1] + ((next[1] - corner[1]) * a) / (a - b)]] : [];
      return a >= 0 ? [corner, ...cut] : cut;
    });
  }
  return corners;
}

/** Hatches the region in which, according to the estimator, the prediction changes. */
export function drawHalfPlanes(
  ctx: CanvasRenderingContext2D,
  size: number,
  view: View,
  lines: readonly Line[],
  palette: Palette,
) {
  const corners = intersection(view, lines).map(([x, y]) => toPixel(view, size, x, y));
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, 0, size, size);
  corners.forEach(([x, y], i) => (i === 0 ? ctx.moveTo(x, y) : ctx.lineTo(x, y)));
  ctx.closePath();
  ctx.clip('evenodd');
  ctx.fillStyle = css(palette.paper, 0.45);
  ctx.fillRect(0, 0, size, size);
  ctx.strokeStyle = css(palette.ink, 0.35);
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let at = -size; at < size; at += 9) {
    ctx.moveTo(at, 0);
    ctx.lineTo(at + size, size);
  }
  ctx.stroke();
  ctx.restore();
}
