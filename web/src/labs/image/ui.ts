// SPDX-License-Identifier: MIT
// What the image lab knows for a moment only.
export interface Ui {
  /** The estimator pointed at. */
  form: string | undefined;
  /** The class whose direction is shown; undefined for the nearest boundary. */
  rival: number | undefined;
  erase: boolean;
  /** A file is held above the lab. */
  over: boolean;
}
