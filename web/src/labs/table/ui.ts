// SPDX-License-Identifier: MIT
// Transient state of the table lab's user interface.
export interface Ui {
  /** The row under the pointer in the scatter plot. */
  row: number | undefined;
  /** Indices of the scales that the pointer selects in the charts. */
  readCurve: number | undefined;
  readRanks: number | undefined;
}
