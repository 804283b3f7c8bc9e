// SPDX-License-Identifier: MIT

/** The number of elements of a tensor. */
export const elementCount = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1);
