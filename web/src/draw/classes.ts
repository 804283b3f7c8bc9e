// SPDX-License-Identifier: MIT
// Names and colours of classes, and their order in a linearisation.

/** Colours repeat after this many classes. */
export const colourCount = 6;

/** Letters name the classes, so that the picture can be read without colours. */
export const letter = (of: number): string => String.fromCharCode(65 + of);

/** The CSS colour of a class; -1, the class of NaN logits, has the first colour. */
export const classColour = (of: number): string => `var(--class-${Math.max(0, of) % colourCount})`;

/** The class to which a row of margins or gradients refers; the target has no row. */
export const rivalOf = (row: number, target: number): number => (row < target ? row : row + 1);

/** The row of a rival class. */
export const rowOf = (rival: number, target: number): number => (rival < target ? rival : rival - 1);
