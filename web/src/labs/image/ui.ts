// SPDX-License-Identifier: MIT
// Transient state of the image lab's user interface.
export interface Ui {
  /** The hovered estimator. */
  form: string | undefined;
  /** The class whose direction is shown; undefined for the nearest boundary. */
  rival: number | undefined;
  /** Index of the scale that the pointer selects in the chart. */
  readSigma: number | undefined;
  erase: boolean;
  /** Whether a file is being dragged over the lab. */
  over: boolean;
}
