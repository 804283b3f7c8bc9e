// SPDX-License-Identifier: MIT
// Draws a scene on a canvas. Regions are cached until the network, the size or the theme changes; everything else is redrawn each
// time.
import { Cached } from '../../draw/cached.js';
import { drawArrow, drawAxes, drawCloud, drawData, drawLetter, type Copies, type Labelled } from '../../draw/cloud.js';
import type { Field } from '../../draw/field.js';
import { drawHalfPlanes, drawLines, labelLines, type Line } from '../../draw/lines.js';
import { colourOf, css, type Palette } from '../../draw/palette.js';
import type { Place } from '../../draw/places.js';
import { boundaries, namePlaces, paintRegions } from '../../draw/regions.js';
import { drawTint, type Tint } from '../../draw/tint.js';
import { axes, toPixel, type Pair, type Spread, type View } from '../../draw/view.js';

export interface Scene {
  view: View;
  field: Field | undefined;
  at: Pair;
  noise: Spread;
  /** The certified radius, drawn as a ring around the point. */
  certified: number | undefined;
  /** The prediction at the point. */
  target: number;
  /** The point's name. */
  label: string;
  tint: Tint | undefined;
  cloud: Copies | undefined;
  data: Labelled | undefined;
  /** Whether to draw the noise's ellipses. */
  rings: boolean;
  taylor: { lines: Line[]; stale: boolean } | undefined;
  mmse: { lines: Line[]; stale: boolean } | undefined;
  /** Lines whose half-planes' intersection is shown. */
  halves: Line[] | undefined;
  arrow: ArrayLike<number> | undefined;
  /** The class whose lines are highlighted. */
  rival: number | undefined;
  /** Other points of a preset pair, with their names. */
  ghosts: { name: string; at: Pair }[];
  /** Whether to paint regions coarsely, because they change every frame. */
  coarse: boolean;
}

const offscreen = (image: ImageData): HTMLCanvasElement => {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext('2d')!.putImageData(image, 0, 0);
  return canvas;
};

/** Canvas pixels per CSS pixel. */
const densityOf = (): number => Math.min(devicePixelRatio || 1, 2);

interface Regions {
  image: HTMLCanvasElement;
  path: Path2D;
  names: Place[];
}

/** The layer that does not move with the point: regions (painted coarsely if requested) and data. */
function base(
  field: Field,
  { view, coarse, data }: Pick<Scene, 'view' | 'coarse' | 'data'>,
  size: number,
  density: number,
  palette: Palette,
) {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = Math.round(size * density);
  const ctx = canvas.getContext('2d')!;
  ctx.scale(density, density);
  const share = coarse ? 0.5 : density;
  ctx.drawImage(offscreen(paintRegions(field, view, Math.round(size * share), share, palette)), 0, 0, size, size);
  if (data) drawData(ctx, size, view, data, palette);
  drawAxes(ctx, size, view, palette);
  return canvas;
}

export class PictureLayers {
  readonly #regions = new Cached<Regions>();
  #tint: { of: Tint; image: HTMLCanvasElement } | undefined;

  /** `side` is in CSS pixels; text and marks are `zoom` times their usual size. */
  draw(canvas: HTMLCanvasElement, { side, zoom }: Record<'side' | 'zoom', number>, scene: Scene, palette: Palette): void {
    const [size, density] = [side / zoom, densityOf() * zoom];
    const pixels = Math.round(size * density);
    if (canvas.width !== pixels) canvas.width = canvas.height = pixels;
    const ctx = canvas.getContext('2d')!;
    ctx.setTransform(density, 0, 0, density, 0, 0);
    if (!scene.field) return void ctx.clearRect(0, 0, size, size);
    const { view, at } = scene;
    const regions = this.#regionsOf(scene.field, scene, { size, density }, palette);
    ctx.drawImage(regions.image, 0, 0, size, size);
    if (scene.tint) drawTint(ctx, this.#tinted(scene.tint), toPixel(view, size, ...at), scene.noise, size / (2 * view.reach));
    ctx.strokeStyle = css(palette.ink, 0.8);
    ctx.lineWidth = 1.5;
    ctx.stroke(regions.path);
    if (scene.halves) drawHalfPlanes(ctx, size, view, scene.halves, palette);
    if (scene.cloud) drawCloud(ctx, size, view, scene.cloud, scene.target, palette);
    this.#lines(ctx, size, scene, palette);
    // Names are drawn after the lines, which would otherwise cross them.
    for (const { of, x, y } of regions.names) drawLetter(ctx, toPixel(view, size, x, y), of, palette);
    if (scene.rings) drawRings(ctx, size, scene, palette);
    for (const { name, at: ghost } of scene.ghosts) drawGhost(ctx, toPixel(view, size, ...ghost), name, palette);
    drawPoint(ctx, toPixel(view, size, ...at), scene.target, palette);
    // The arrow is drawn after the point, which would hide a short arrow.
    if (scene.arrow) drawArrow(ctx, size, view, at, scene.arrow, palette);
  }

  #lines(ctx: CanvasRenderingContext2D, size: number, { view, taylor, mmse, rival }: Scene, palette: Palette): void {
    for (const [lines, dashed] of [
      [mmse, false],
      [taylor, true],
    ] as const) {
      if (!lines) continue;
      drawLines(ctx, size, view, lines.lines, { dashed, opacity: lines.stale ? 0.4 : 1, lit: rival }, palette);
    }
    const named = mmse ?? taylor;
    if (named) labelLines(ctx, size, view, named.lines, palette);
  }

  #regionsOf(
    field: Field,
    { view, coarse, data }: Scene,
    { size, density }: Record<'size' | 'density', number>,
    palette: Palette,
  ): Regions {
    return this.#regions.get([field, view, size, density, coarse, data, JSON.stringify(palette)], () => ({
      image: base(field, { view, coarse, data }, size, density, palette),
      path: boundaries(field, view, size),
      names: coarse ? [] : namePlaces(field, view),
    }));
  }

  #tinted(tint: Tint): HTMLCanvasElement {
    if (this.#tint?.of !== tint) {
      const image = this.#tint?.image ?? offscreen(tint.image);
      image.getContext('2d')!.putImageData(tint.image, 0, 0);
      this.#tint = { of: tint, image };
    }
    return this.#tint.image;
  }
}

/**
 * A contour of the noise at a multiple of its standard deviation: a line of constant density or, for uniform noise, its border.
 */
function contour(ctx: CanvasRenderingContext2D, [x, y]: Pair, { noise, angle }: Spread, [a, b]: Pair): void {
  ctx.beginPath();
  if (noise === 'gaussian') return ctx.ellipse(x, y, a, b, (-angle * Math.PI) / 180, 0, 2 * Math.PI);
  if (noise === 'uniform') return ctx.rect(x - a, y - b, 2 * a, 2 * b);
  ctx.moveTo(x - a, y);
  for (const [dx, dy] of [
    [0, -b],
    [a, 0],
    [0, b],
  ] as const)
    ctx.lineTo(x + dx, y + dy);
  ctx.closePath();
}

/** The multiples of the standard deviation at which contours are drawn. Uniform noise ends at √3. */
const contours: Record<Spread['noise'], readonly number[]> = {
  gaussian: [1, 2],
  uniform: [Math.sqrt(3)],
  laplace: [Math.SQRT2, 2 * Math.SQRT2],
};

function drawRings(ctx: CanvasRenderingContext2D, size: number, scene: Scene, palette: Palette): void {
  const { view, at, noise } = scene;
  const middle = toPixel(view, size, ...at);
  const scale = size / (2 * view.reach);
  const { long, short } = axes(noise);
  ctx.save();
  contours[noise.noise].forEach((times, i) => {
    contour(ctx, middle, noise, [Math.hypot(...long) * scale * times, Math.hypot(...short) * scale * times]);
    ctx.setLineDash(i === 0 ? [] : [3, 4]);
    ctx.lineWidth = 1.25;
    ctx.strokeStyle = css(palette.ink, i === 0 ? 0.85 : 0.5);
    ctx.stroke();
  });
  ctx.setLineDash([]);
  for (const end of noise.noise === 'gaussian' ? [long, short] : []) {
    ctx.beginPath();
    ctx.arc(middle[0] + end[0] * scale, middle[1] - end[1] * scale, 4, 0, 2 * Math.PI);
    ctx.fillStyle = css(palette.paper);
    ctx.fill();
    ctx.strokeStyle = css(palette.ink);
    ctx.stroke();
  }
  if (noise.clip) drawSensor(ctx, size, view, noise.clip, palette);
  if (scene.certified !== undefined) drawCertified(ctx, middle, scene.certified * scale, palette);
  ctx.restore();
}

/** Draws the range of the sensor, to which noisy samples are clipped. */
function drawSensor(
  ctx: CanvasRenderingContext2D,
  size: number,
  view: View,
  [low, high]: readonly [number, number],
  palette: Palette,
) {
  const [left, top] = toPixel(view, size, low, high);
  const [right, bottom] = toPixel(view, size, high, low);
  ctx.setLineDash([8, 3, 2, 3]);
  ctx.strokeStyle = css(palette.ink, 0.6);
  ctx.strokeRect(left, top, right - left, bottom - top);
}

function drawCertified(ctx: CanvasRenderingContext2D, [x, y]: Pair, radius: number, palette: Palette): void {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.setLineDash([]);
  ctx.lineWidth = 3;
  ctx.strokeStyle = css(palette.accent);
  ctx.stroke();
}

function drawPoint(ctx: CanvasRenderingContext2D, [x, y]: Pair, target: number, palette: Palette): void {
  for (const [radius, colour] of [
    [10.5, css(palette.ink)],
    [9, css(palette.paper)],
    [7, css(colourOf(palette, target))],
  ] as const) {
    ctx.beginPath();
    ctx.arc(x, y, radius, 0, 2 * Math.PI);
    ctx.fillStyle = colour;
    ctx.fill();
  }
}

function drawGhost(ctx: CanvasRenderingContext2D, [x, y]: Pair, name: string, palette: Palette): void {
  ctx.save();
  ctx.beginPath();
  ctx.arc(x, y, 11, 0, 2 * Math.PI);
  ctx.fillStyle = css(palette.paper, 0.85);
  ctx.fill();
  ctx.lineWidth = 1.5;
  ctx.strokeStyle = css(palette.ink);
  ctx.stroke();
  ctx.font = '650 12px system-ui, sans-serif';
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  ctx.fillStyle = css(palette.ink);
  ctx.fillText(name, x, y + 0.5);
  ctx.restore();
}
