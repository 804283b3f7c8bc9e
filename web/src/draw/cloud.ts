// SPDX-License-Identifier: MIT
// Points on the picture: noisy samples, data, and the arrow to the nearest boundary.
import { letter } from './classes.js';
import { colourOf, css, mix, type Palette } from './palette.js';
import { toPixel, type Pair, type View } from './view.js';

export interface Copies {
  /** Noisy samples, [n, 2]. */
  x: Float32Array;
  /** The prediction at each sample, [n]. */
  predicted: ArrayLike<number>;
}

/**
 * Samples that keep the prediction are soft dots in its colour; others are rings in the text colour, so that they differ without
 * colours.
 */
export function drawCloud(
  ctx: CanvasRenderingContext2D,
  size: number,
  view: View,
  { x, predicted }: Copies,
  target: number,
  palette: Palette,
) {
  const hits = new Path2D();
  const misses = new Path2D();
  for (let i = 0; i < predicted.length; ++i) {
    const [px, py] = toPixel(view, size, x[2 * i]!, x[2 * i + 1]!);
    const path = predicted[i] === target ? hits : misses;
    const radius = predicted[i] === target ? 2.4 : 2.9;
    path.moveTo(px + radius, py);
    path.arc(px, py, radius, 0, 2 * Math.PI);
  }
  ctx.fillStyle = css(mix(colourOf(palette, target), palette.ink, 0.15), 0.55);
  ctx.fill(hits);
  ctx.lineWidth = 1.3;
  ctx.strokeStyle = css(palette.ink, 0.9);
  ctx.stroke(misses);
}

export interface Labelled {
  x: ArrayLike<number>;
  labels: ArrayLike<number>;
}

/** Data are drawn as small squares, so that they are not mistaken for noise. */
export function drawData(ctx: CanvasRenderingContext2D, size: number, view: View, { x, labels }: Labelled, palette: Palette) {
  // The points of large data sets are drawn small, and the user's own few points larger.
  const half = (size < 420 ? 1.6 : 2.1) * (labels.length < 60 ? 2 : 1);
  ctx.save();
  ctx.lineWidth = 1;
  ctx.strokeStyle = css(palette.paper, 0.9);
  for (let i = 0; i < labels.length; ++i) {
    const [px, py] = toPixel(view, size, x[2 * i]!, x[2 * i + 1]!);
    ctx.fillStyle = css(mix(colourOf(palette, labels[i]!), palette.ink, 0.25), 0.6);
    ctx.fillRect(px - half, py - half, 2 * half, 2 * half);
    ctx.strokeRect(px - half, py - half, 2 * half, 2 * half);
  }
  ctx.restore();
}

/** An arrow from the point to the nearest boundary. */
export function drawArrow(
  ctx: CanvasRenderingContext2D,
  size: number,
  view: View,
  at: Pair,
  step: ArrayLike<number>,
  palette: Palette,
) {
  const from = toPixel(view, size, ...at);
  const to = toPixel(view, size, at[0] + step[0]!, at[1] + step[1]!);
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  if (length < 3) return;
  const headLength = Math.min(9, 0.6 * length);
  const [ux, uy] = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
  const head = (side: number): Pair => [
    to[0] - headLength * (ux + side * 0.55 * uy),
    to[1] - headLength * (uy - side * 0.55 * ux),
  ];
  ctx.save();
  for (const [width, colour] of [
    [5, css(palette.paper, 0.85)],
    [2.25, css(palette.ink)],
  ] as const) {
    ctx.beginPath();
    ctx.moveTo(from[0] + 11 * ux, from[1] + 11 * uy);
    ctx.lineTo(...to);
    ctx.moveTo(...head(1));
    ctx.lineTo(...to);
    ctx.lineTo(...head(-1));
    ctx.lineWidth = width;
    ctx.strokeStyle = colour;
    ctx.lineJoin = 'round';
    ctx.lineCap = 'round';
    ctx.stroke();
  }
  ctx.restore();
}

/** Writes coordinates along the lower and the left edge. */
export function drawAxes(ctx: CanvasRenderingContext2D, size: number, view: View, palette: Palette) {
  ctx.save();
  ctx.font = '11px system-ui, sans-serif';
  ctx.lineWidth = 3;
  ctx.strokeStyle = css(palette.paper, 0.8);
  ctx.fillStyle = css(palette.muted);
  const write = (text: string, x: number, y: number, align: CanvasTextAlign) => {
    ctx.textAlign = align;
    ctx.strokeText(text, x, y);
    ctx.fillText(text, x, y);
  };
  for (let at = Math.ceil(view.cx - view.reach); at <= view.cx + view.reach; ++at) {
    write(String(at), toPixel(view, size, at, 0)[0], size - 5, 'center');
  }
  for (let at = Math.ceil(view.cy - view.reach); at <= view.cy + view.reach; ++at) {
    write(String(at), 5, toPixel(view, size, 0, at)[1] + 4, 'left');
  }
  write('x₁', size - 6, size - 5, 'right');
  write('x₂', 5, 14, 'left');
  ctx.restore();
}

/** Writes the name of a class into its region. */
export function drawLetter(ctx: CanvasRenderingContext2D, [x, y]: Pair, of: number, palette: Palette) {
  ctx.save();
  ctx.font = '650 17px system-ui, sans-serif';
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  ctx.lineWidth = 5;
  ctx.lineJoin = 'round';
  ctx.strokeStyle = css(palette.paper, 0.9);
  ctx.strokeText(letter(of), x, y);
  ctx.fillStyle = css(mix(colourOf(palette, of), palette.ink, 0.55));
  ctx.fillText(letter(of), x, y);
  ctx.restore();
}
