// SPDX-License-Identifier: MIT
// Draws a scene on a canvas. Regions are kept until the network, the view or the theme changes: a moved point redraws the rest.
import type { Field } from '../../draw/field.js';
import { css, type Palette } from '../../draw/palette.js';
import { boundaries, paintRegions } from '../../draw/regions.js';
import { drawTint, paintTint } from '../../draw/tint.js';
import { axes, toPixel, type Ellipse, type Pair, type View } from '../../draw/view.js';

export interface Scene {
  view: View;
  field: Field | undefined;
  at: Pair;
  noise: Ellipse;
  /** The answer at the point; the field's where none was given yet. */
  target: number;
  /** Said of the point. */
  label: string;
  /** Told the mass that was tinted. */
  onMass(mass: number): void;
}

const offscreen = (image: ImageData): HTMLCanvasElement => {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext('2d')!.putImageData(image, 0, 0);
  return canvas;
};

export class PictureLayers {
  #regions: HTMLCanvasElement | undefined;
  #path: Path2D | undefined;
  #of: unknown[] = [];

  draw(canvas: HTMLCanvasElement, size: number, scene: Scene, palette: Palette): void {
    const density = Math.min(devicePixelRatio || 1, 2);
    const pixels = Math.round(size * density);
    if (canvas.width !== pixels) canvas.width = canvas.height = pixels;
    const ctx = canvas.getContext('2d')!;
    ctx.setTransform(density, 0, 0, density, 0, 0);
    if (!scene.field) return void ctx.clearRect(0, 0, size, size);
    this.#keepRegions(scene.field, scene.view, pixels, density, palette);
    ctx.drawImage(this.#regions!, 0, 0, size, size);
    this.#tint(ctx, size, scene, palette);
    ctx.strokeStyle = css(palette.ink, 0.75);
    ctx.lineWidth = 1.5;
    ctx.stroke(this.#path!);
    drawRings(ctx, size, scene, palette);
    drawPoint(ctx, size, scene, palette);
  }

  #keepRegions(field: Field, view: View, pixels: number, density: number, palette: Palette): void {
    const of = [field, view, pixels, JSON.stringify(palette)];
    if (of.every((value, i) => value === this.#of[i])) return;
    this.#of = of;
    this.#regions = offscreen(paintRegions(field, view, pixels, density, palette));
    this.#path = boundaries(field, view, pixels / density);
  }

  #tint(ctx: CanvasRenderingContext2D, size: number, scene: Scene, palette: Palette): void {
    const { image, mass } = paintTint(scene.field!, scene.at, scene.noise, scene.target, palette);
    drawTint(ctx, offscreen(image), toPixel(scene.view, size, ...scene.at), scene.noise, size / (2 * scene.view.reach));
    scene.onMass(mass);
  }
}

function drawRings(ctx: CanvasRenderingContext2D, size: number, { view, at, noise }: Scene, palette: Palette): void {
  const [x, y] = toPixel(view, size, ...at);
  const scale = size / (2 * view.reach);
  const { long, short } = axes(noise);
  for (const times of [1, 2]) {
    ctx.beginPath();
    const [a, b] = [Math.hypot(...long), Math.hypot(...short)].map((length) => length * scale * times);
    ctx.ellipse(x, y, a!, b!, (-noise.angle * Math.PI) / 180, 0, 2 * Math.PI);
    ctx.setLineDash(times === 1 ? [] : [3, 4]);
    ctx.lineWidth = 1.25;
    ctx.strokeStyle = css(palette.ink, times === 1 ? 0.8 : 0.45);
    ctx.stroke();
  }
  ctx.setLineDash([]);
}

function drawPoint(ctx: CanvasRenderingContext2D, size: number, { view, at, target }: Scene, palette: Palette): void {
  const [x, y] = toPixel(view, size, ...at);
  ctx.beginPath();
  ctx.arc(x, y, 8, 0, 2 * Math.PI);
  ctx.fillStyle = css(palette.classes[target % palette.classes.length]!);
  ctx.fill();
  ctx.lineWidth = 2.5;
  ctx.strokeStyle = css(palette.paper);
  ctx.stroke();
  ctx.beginPath();
  ctx.arc(x, y, 9.75, 0, 2 * Math.PI);
  ctx.lineWidth = 1.5;
  ctx.strokeStyle = css(palette.ink);
  ctx.stroke();
}
