// SPDX-License-Identifier: MIT
// Transient state of the 2-D lab's user interface: hovered items, and the class that a click adds.
export interface Ui {
  /** The hovered estimator. */
  form: string | undefined;
  /** The hovered rival class. */
  rival: number | undefined;
  /** A click on the picture adds a point of this class; if undefined, it moves the point. */
  adding: number | undefined;
  preset: string | undefined;
  /** Indices of the values that the pointer selects in the charts. */
  readSigma: number | undefined;
  readCost: number | undefined;
}
