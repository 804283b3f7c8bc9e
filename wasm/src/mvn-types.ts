// SPDX-License-Identifier: MIT
// The types of mvn.

export interface MvnOptions {
  /** Requested absolute error of p; 1e-4 by default. */
  abs?: number;
  /** Requested relative error of 1 - p; 1e-2 by default. */
  relFail?: number;
  seed?: number;
}

/** P(X <= z) with bounds on its error. */
export interface MvnResult {
  p: number | null;
  pFail: number | null;
  error: number | null;
  errorFail: number | null;
  /** The method that was used. */
  method: string;
  /** "ok", or a word for the problem. */
  status: string;
}
