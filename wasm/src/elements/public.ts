// SPDX-License-Identifier: MIT
// The public interface of the components.
import type { PointData } from '../data.js';
import type { Model } from '../model.js';
import type { NoiseModel } from '../noise-types.js';
import type { EstimateOptions, Labels, ModelOptions, ModelSource, Numbers, Row } from '../types.js';

/** Points with their properties, as returned by `probust/data`. */
export type KnownPoints = { x: Numbers; labels?: Labels } & Partial<Omit<PointData, 'x' | 'labels'>>;
export type Points = Numbers | KnownPoints;

type Maybe<T> = T | null | undefined;

/** The properties of every component: rows, or a model and points. Null and undefined mean that a property is not set. */
export interface ProbustComponent {
  /** An ONNX model's address or bytes, or a loaded model. */
  model: Maybe<ModelSource | Model>;
  /** The address of a data file (.npy, .csv, IDX), numbers, or a result of `probust/data`. */
  points: Maybe<string | Points>;
  /** One point, as numbers separated by commas. */
  x: Maybe<string | Numbers>;
  /** Rows of an earlier run, or the address of a .csv or .jsonl file with them. If set, nothing is estimated. */
  rows: Maybe<string | readonly Row[]>;
  /** The kind of noise, "gaussian" by default, a noise with its scale, or a function (`perturbation` of `probust/function`). */
  noise: Maybe<NoiseModel>;
  /** Noise scales: "0.1", "0.1,0.2", "0.05..0.5:8", or numbers. */
  sigma: Maybe<string | number | readonly number[]>;
  /** The estimators, such as "mc:1000,taylor"; "auto" by default. */
  estimators: Maybe<string | readonly string[]>;
  /** The seed of the noise; 0 by default. */
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
  /** "light" or "dark"; by default the system's theme. */
  theme: Maybe<string>;
}

/** The detail of the event `probust-rows`. */
export interface RowsDetail {
  rows: readonly Row[];
}

/** p at one noise scale; the detail of a curve's event `probust-select`. */
export interface Reading {
  sigma: number;
  p: number;
  pFail: number | null;
  ciLow: number | null;
  ciHigh: number | null;
}
