// SPDX-License-Identifier: MIT
// Colours for canvases, read from the custom properties of the element, so that the page's theme applies to them, too.
import { colourCount } from './classes.js';

export type Rgb = [number, number, number];

export interface Palette {
  paper: Rgb;
  ink: Rgb;
  muted: Rgb;
  accent: Rgb;
  /** One colour per class. */
  classes: Rgb[];
}

const hex = (text: string): Rgb => {
  const digits = text.trim().replace('#', '');
  const full = digits.length === 3 ? [...digits].map((digit) => digit + digit).join('') : digits;
  return [0, 2, 4].map((at) => parseInt(full.slice(at, at + 2), 16) || 0) as Rgb;
};

export function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const read = (name: string) => hex(style.getPropertyValue(name));
  return {
    paper: read('--paper'),
    ink: read('--ink'),
    muted: read('--muted'),
    accent: read('--accent'),
    classes: Array.from({ length: colourCount }, (_, c) => read(`--class-${c}`)),
  };
}

/** The colour of a class. */
export const colourOf = ({ classes }: Palette, of: number): Rgb => classes[of % classes.length]!;

export const css = ([r, g, b]: Rgb, alpha = 1): string => `rgb(${r} ${g} ${b} / ${alpha})`;

/** A pixel of an image as one number. */
export const packed = ([r, g, b]: Rgb, alpha: number): number => (alpha << 24) | (b << 16) | (g << 8) | r;

/** Blends `share` of `over` onto `under`. */
export const mix = (under: Rgb, over: Rgb, share: number): Rgb =>
  under.map((value, i) => Math.round(value + (over[i]! - value) * share)) as Rgb;
