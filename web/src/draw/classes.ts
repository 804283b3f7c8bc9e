// SPDX-License-Identifier: MIT
// Names and colours of classes, and their order in a linearisation.

/** Colours repeat after this many classes. */
export const colourCount = 6;

/** Classes are named by letters, so that colours are not needed. */
export const letter = (of: number): string => String.fromCharCode(65 + of);

/** The CSS colour of a class; -1, the class of NaN logits, has the first one. */
export const classColour = (of: number): string => `var(--class-${Math.max(0, of) % colourCount})`;

/** The class of a row of margins or gradients, which have no row for the target. */
export const rivalOf = (row: number, target: number): number => (row < target ? row : row + 1);

/** The row of a rival class. */
export const rowOf = (rival: number, target: number): number => (rival < target ? rival : rival - 1);
