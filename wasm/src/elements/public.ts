// SPDX-License-Identifier: MIT
// The components as pages see them.
import type { PointData } from '../data.js';
import type { Model } from '../model.js';
import type { EstimateOptions, Labels, ModelOptions, ModelSource, Numbers, Row } from '../types.js';

/** Points with what is known about them, as `probust/data` reads them. */
export type KnownPoints = { x: Numbers; labels?: Labels } & Partial<Omit<PointData, 'x' | 'labels'>>;
export type Points = Numbers | KnownPoints;

type Maybe<T> = T | null | undefined;

/** What every component takes: rows, or a model and points. What is null or undefined is not given. */
export interface ProbustComponent {
  /** An ONNX model's address or bytes, or a loaded model. */
  model: Maybe<ModelSource | Model>;
  /** The address of a data file (.npy, .csv, IDX), numbers, or what `probust/data` reads. */
  points: Maybe<string | Points>;
  /** One point, as numbers separated by commas. */
  x: Maybe<string | Numbers>;
  /** Rows of an earlier run, or the address of its .csv or .jsonl; then nothing is estimated. */
  rows: Maybe<string | readonly Row[]>;
  /** The kind of noise, "gaussian" by default, or a noise with its scale. */
  noise: Maybe<string>;
  /** Scales of the noise: "0.1", "0.1,0.2", "0.05..0.5:8", or numbers. */
  sigma: Maybe<string | number | readonly number[]>;
  /** "auto" by default. */
  estimators: Maybe<string | readonly string[]>;
  /** 0 by default. */
  seed: Maybe<number>;
  /** The largest number of points to read from a file. */
  limit: Maybe<number>;
  mean: Maybe<string | Numbers>;
  std: Maybe<string | Numbers>;
  /** Further options of `loadModel`, such as `shape` and `layout`. */
  modelOptions: Maybe<ModelOptions>;
  /** Further options of `estimate`, such as `target`, `groups`, `clip` and `budget`. */
  estimateOptions: Maybe<EstimateOptions>;
  classNames: Maybe<string | readonly string[]>;
  /** "light" or "dark"; otherwise that of the system. */
  theme: Maybe<string>;
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
