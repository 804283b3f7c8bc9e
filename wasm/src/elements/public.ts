// SPDX-License-Identifier: MIT
// The components as pages see them.
import type { PointData } from '../data.js';
import type { Model } from '../model.js';
import type { Labels, ModelSource, Numbers, Row } from '../types.js';

/** Points with what is known about them, as `probust/data` reads them. */
export type KnownPoints = Pick<PointData, 'x'> & Partial<Omit<PointData, 'labels'>> & { labels?: Labels };
export type Points = Numbers | KnownPoints;

/** What every component takes: rows, or a model and points. */
export interface ProbustComponent {
  /** An ONNX model's address or bytes, or a loaded model. */
  model: ModelSource | Model | undefined;
  /** The address of a data file (.npy, .csv, IDX), numbers, or what `probust/data` reads. */
  points: string | Points | undefined;
  /** One point, as numbers separated by commas. */
  x: string | Numbers | undefined;
  /** Rows of an earlier run, or the address of its .csv or .jsonl; then nothing is estimated. */
  rows: string | readonly Row[] | undefined;
  /** The kind of noise, "gaussian" by default, or a noise with its scale. */
  noise: string;
  /** Scales of the noise: "0.1", "0.1,0.2", "0.05..0.5:8", or numbers. */
  sigma: string | number | readonly number[] | undefined;
  /** "auto" by default. */
  estimators: string | readonly string[];
  seed: number;
  /** The largest number of points to read from a file. */
  limit: number | undefined;
  mean: string | Numbers | undefined;
  std: string | Numbers | undefined;
  classNames: string | readonly string[] | undefined;
}

/** Detail of `probust-rows`. */
export interface RowsDetail {
  rows: readonly Row[];
}

/** p at one scale of the noise; the detail of `probust-select` of a curve. */
export interface Reading {
  sigma: number;
  p: number;
  pFail: number | null;
  ciLow: number | null;
  ciHigh: number | null;
}
