// SPDX-License-Identifier: MIT
// What the 2-D lab knows for a moment only: what is pointed at, and which class a click adds.
export interface Ui {
  /** The estimator pointed at. */
  form: string | undefined;
  /** The rival class pointed at. */
  rival: number | undefined;
  /** The class that a click on the picture adds a point of; undefined moves the point. */
  adding: number | undefined;
  preset: string | undefined;
}
