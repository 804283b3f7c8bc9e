// SPDX-License-Identifier: MIT
// Colours for canvases, read from the custom properties of the element that they are drawn in, so that a page's theme applies
// to them too.

export type Rgb = [number, number, number];

export interface Palette {
  paper: Rgb;
  ink: Rgb;
  muted: Rgb;
  accent: Rgb;
  /** One per class. */
  classes: Rgb[];
}

/** Classes are named by letters, so that nobody has to rely on colours. */
export const letter = (of: number): string => String.fromCharCode(65 + of);

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
    classes: [0, 1, 2, 3, 4, 5].map((c) => read(`--class-${c}`)),
  };
}

export const css = ([r, g, b]: Rgb, alpha = 1): string => `rgb(${r} ${g} ${b} / ${alpha})`;

/** Blends `share` of `over` onto `under`. */
export const mix = (under: Rgb, over: Rgb, share: number): Rgb =>
  under.map((value, i) => Math.round(value + (over[i]! - value) * share)) as Rgb;
