// SPDX-License-Identifier: MIT
import type { NoiseModel } from './noise-types.js';

/** Numbers: a typed array or a plain array. In points, unsigned bytes are scaled to 0..1, as in image files. */
export type Numbers =
  | readonly number[]
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array;

/** Progress of a call. */
export interface Progress {
  /** Forward and backward passes done. */
  passes: number;
  /** The number of passes planned so far; it may change during the call. */
  planned: number;
}

/** Options of every call that may take a long time. */
export interface CallOptions {
  /** Aborts the call, which rejects with code `aborted`; the model remains usable. */
  signal?: AbortSignal;
  /** Called between chunks of work. */
  onProgress?: (progress: Progress) => void;
}

export interface ProbustOptions {
  /** The address of probust.wasm; by default in the folder of the script. The other parts, probust-*.wasm, are loaded from the same folder. */
  wasmUrl?: string | URL;
  /** Run in a Web Worker (node: a worker thread), so that the page never blocks. */
  worker?: boolean;
  /** Run in this many workers; points and estimators are distributed among them. */
  threads?: number;
  /** The address of worker.mjs; by default in the folder of the script. */
  workerUrl?: string | URL;
  /** Aborts the download and the start of workers. */
  signal?: AbortSignal;
}

/** Options of `probust/threads`. */
export interface ThreadsOptions {
  /** Threads for each call, 1 to 256; by default one per core. */
  threads?: number;
  /** The address of threads/worker.mjs, with the other files of that folder; by default in the folder of the script. */
  workerUrl?: string | URL;
  /** The address of probust-threads.wasm; by default in the folder of the worker. */
  wasmUrl?: string | URL;
  /** Aborts the download and the start of workers. */
  signal?: AbortSignal;
}

/** An ONNX model: its bytes, its path or URL, a response with it, or a file that the user chose. */
export type ModelSource = ArrayBuffer | ArrayBufferView | string | URL | Response | Blob;

/** Preprocessing of the data. x, noise, gradients and distances are in units of the data before mean and std. */
export interface ModelOptions {
  /** The mean, which is subtracted from x: one number for all channels, or one per channel. */
  mean?: Numbers;
  /** The standard deviation, by which x is then divided: one number for all channels, or one per channel. */
  std?: Numbers;
  /** The order of the axes of the model's input, if x is stored as [C, H, W]; by default derived from the shapes. */
  layout?: 'auto' | 'nchw' | 'nhwc' | 'whcn';
  /** The shape of one point of x, such as [3, 32, 32]; by default that of the model's input without the batch axis. */
  shape?: Numbers;
  /** The input's shape for one example, if the model has dynamic dimensions other than the batch. */
  inputShape?: Numbers;
  /** The name of the output or inner tensor that determines the class; by default the only suitable one. */
  output?: string;
  /** For a model with one output number: numbers above this are class 1; by default 0 for scores and 0.5 for probabilities. */
  threshold?: number;
  /** Which output values are the scores of the classes, in the order of the classes; by default all. */
  outputs?: Numbers;
  /** Memory limit in bytes for activations and gradients; 1 GiB by default. */
  memory?: number;
  /**
   * For regression models: p is the probability that every output changes by less than this. There are two classes for each
   * output, too low and too high, and a last one for "all outputs are within the tolerance". `logits` returns the outputs
   * themselves. Only `logits`, `estimate` and `sweep` are available.
   */
  tolerance?: number | Numbers;
  /** The names of the classes, in order; `target`, `groups` and `labels` may then use them. */
  classNames?: readonly string[] | undefined;
  signal?: AbortSignal;
}

export interface Port {
  name: string;
  /** The element type, such as "float32". */
  type: string;
  /** The extents; -1 stands for a symbolic extent. */
  shape: number[];
}

export interface OperatorUse {
  opType: string;
  domain: string;
  count: number;
  runs: boolean;
  differentiable: boolean;
}

/** Facts about a model. */
export interface ModelInfo {
  /** The engine: "probust", or for example "onnxruntime-web (webgpu)". */
  engine: string;
  producer: string;
  graph: string;
  opset: number;
  /** The number of elements in floating-point weights; NaN for a function. */
  parameters: number;
  /** Floating-point operations of one forward pass of one example; NaN if another engine runs the model. */
  flops: number;
  /** C, the number of logits. */
  classes: number;
  /** The names of the classes, if they were given. */
  classNames?: string[];
  /** The shape of one point of x. */
  pointShape: number[];
  /** The ONNX input's shape with a batch of 1. */
  inputShape: number[];
  /** The name of the output used as logits. */
  logits: string;
  /**
   * How the class is determined, in one line, such as "class 1 if 'score' > 0"; empty if another engine or a function runs the
   * model.
   */
  decision: string;
  /** If the class is determined by one number, the threshold: class 1 is predicted above it; in the units of the output. */
  threshold?: number;
  inputs: Port[];
  outputs: Port[];
  operators: OperatorUse[];
  /** Decisions that were made while loading, one sentence each. */
  notes: string[];
}

/** Numbers that a noise text refers to by name, as in "gaussian:cov=mine". */
export interface NamedArray {
  /** Row-major. */
  data: Numbers;
  /** [d] or [N, d] for std and diag; [d, d] or [N, d, d] for cov; [d, r] or [N, d, r] for factor. */
  shape: Numbers;
}

/** A categorical feature: one-hot columns, or one column with codes. */
export interface CategoryGroup {
  /** The k columns of the feature, or its only column. */
  columns: Numbers;
  /** [k, k] row-major: the probability of each new value (column), given the current value (row). */
  transitions: Numbers;
  /** [k] The codes of the values, if they are in one column; the nearest one is the current value. */
  codes?: Numbers;
  /** Numbers in other columns that change with the value: add [k, k] has the change for each pair of values. */
  joint?: readonly { column: number; add: Numbers }[];
}

/** Options of the noise, in addition to its text. */
export interface NoiseOptions {
  /** Arrays that replace the files in the text of the noise. */
  arrays?: Record<string, NamedArray>;
  /** The groups of columns to which "categorical:NAME" refers, by name. */
  categories?: Record<string, CategoryGroup[]>;
  /** The bytes of the ONNX models with inputs x and z to which "transform:NAME" refers, by name. */
  transforms?: Record<string, Uint8Array>;
  /** Noisy samples are clipped to [low, high], in the units of x, or columns to ranges: '0,1@0..3+0,9@4'. */
  clip?: readonly [number, number] | string;
  /** Noisy samples are also rounded to this many evenly spaced values in that range. */
  levels?: number;
}

/** Options of calls about points. */
export interface PointOptions extends CallOptions {
  /** Seed of the noise, a whole number; 0 by default. The same seed gives the same noise here and on the command line. */
  seed?: number | undefined;
  /** The position of the (first) point in the data, on which the noise also depends; 0 by default. */
  index?: number | undefined;
  /**
   * The class whose survival is estimated: 'predicted' (the default), 'label', a class number or a class name for all points, or
   * a list with a number for each point.
   */
  target?: Numbers | number | string | undefined;
  /** The labels of the points, [N]: class numbers or class names. They are returned in rows. */
  labels?: Labels | undefined;
}

/** A class for each point: a number, or one of the model's `classNames`. */
export type Labels = Numbers | readonly (number | string)[];

/** The event whose probability is estimated. By default, it is that the target wins. */
export interface EventOptions {
  /** Classes that count as one, by number or name: '0,1/2,3', or [[0, 1], [2, 3]]. */
  groups?: string | readonly (readonly (number | string)[])[] | undefined;
  /** The target only needs to remain among this many largest logits; 1 by default. For `mc` and `auto`. */
  top?: number | undefined;
}

/** The budget of `auto`, and what points share. */
export interface BudgetOptions {
  /** For "auto": forward passes per point and noise model. */
  budget?: number | undefined;
  /** For "auto": points do not share draws of the noise, so that their errors are independent. */
  independent?: boolean | undefined;
  /** What points share with "probit" and "regression" ("none" by default). "auto" decides by itself, unless this is "none". */
  share?: 'none' | 'pooled' | 'learned' | 'draws' | undefined;
}

export interface EstimateOptions extends NoiseOptions, PointOptions, EventOptions, BudgetOptions {
  /** One or several noise models, such as "gaussian:0.1" or "gaussian:0.1@0..3+laplace:0.2@4", or a `perturbation`. */
  noise: NoiseModel | readonly NoiseModel[];
  /** One or several estimators, such as "taylor", "mmse:10", "mc:10000" (Probust.estimators lists all); "auto" by default. */
  estimators?: string | readonly string[] | undefined;
  /** Whether rows also have `classes`, the probability that each class wins (or is among the `top`). */
  perClass?: boolean | undefined;
  /** For "auto": forward passes for all points and noise models together, distributed so that the error is smallest. */
  totalBudget?: number | undefined;
  /** Whether to fit a smooth curve to each sweep over three or more noise scales, which reduces the error. */
  smooth?: boolean | undefined;
  /**
   * Whether to correct the bias of `probit`, `regression` and `auto`, as measured by the noisy samples of all points. Needs at
   * least 30 points.
   */
  calibrate?: boolean | undefined;
  /**
   * Whether to check first, on up to 100 points, that points, preprocessing and labels match the model; by default, if there are
   * labels or at least 20 points. A problem causes a warning and a note in every row.
   */
  check?: boolean | undefined;
  /** Called with each warning; by default, warnings go to the console. */
  onWarning?: ((warning: string) => void) | undefined;
}

/** Whether an estimate can be trusted, in one word; docs/estimators.md explains the words. */
export type Status =
  | 'ok'
  | 'tie'
  | 'decided'
  | 'undecided'
  | 'capped'
  | 'bound'
  | 'approximate'
  | 'inexact'
  | 'disagrees'
  | 'degenerate'
  | 'undefined'
  | 'nonfinite'
  | 'invalid'
  | 'unsupported'
  | 'resources'
  | 'numerical';

/** One estimate. Numbers that could not be computed are null; `status` and `note` give the reason. */
export interface Row {
  /** Position of the point in the data. */
  index: number;
  /** The given label, or null. */
  label: number | null;
  /** argmax of the logits at x; on a tie, the lowest index. */
  predicted: number;
  /** The class whose survival is estimated. */
  target: number;
  /** The noise model in canonical form, such as "gaussian:0.1". */
  noise: string;
  /** The noise scale, for noise with one parameter. */
  sigma: number | null;
  /** The estimator in canonical form, such as "mc:1000". */
  estimator: string;
  /** The estimated probability that the target survives. */
  p: number | null;
  /** 1 - p, computed without cancellation; with the status `bound`, the upper end of its 95% interval. */
  pFail: number | null;
  /** Standard error of p from sampling. */
  stdError: number | null;
  /** 95% confidence interval of p. */
  ciLow: number | null;
  ciHigh: number | null;
  /** Passes spent on this point. */
  forwards: number;
  backwards: number;
  status: Status;
  /** The estimator that computed the row: `estimator`, or the one that `auto` picked. */
  method: string;
  /** A sentence about the estimate, or null. */
  note: string | null;
  /**
   * Probability that a noisy sample is classified as the label, from the same passes, with its 95% interval; null without a
   * label.
   */
  pLabel?: number | null;
  pLabelLow?: number | null;
  pLabelHigh?: number | null;
  /** [C] With `perClass`: the probability that each class wins or, with `top`, is among the `top` largest logits. */
  classes?: (number | null)[];
  /** The model's name, in rows of a run with several models. */
  model?: string;
}

export interface LinearizeOptions extends NoiseOptions, PointOptions {
  /** 0 (the default): linearise at x. N > 0: average margins and gradients over N noisy samples. */
  samples?: number;
}

/** The classifier linearised around a point. Rivals are the classes other than the target, in order: m = C - 1. */
export interface Linearization {
  target: number;
  /** The noise scale, sigma. */
  scale: number;
  /** [m] f_t - f_i, the margins of the target t over each rival i. */
  margins: Float64Array;
  /** [m, d] row-major: the gradients of the margins. */
  gradients: Float32Array;
  /** [m, m] row-major: the covariance of the linearised margins at unit scale; multiply by sigma² for the noise scale. */
  gram: Float64Array;
  /** [k] positions in `margins` of the rivals whose boundaries the noise can cross; z and R refer to these. */
  rivals: Int32Array;
  /** [k] the margins of these rivals, in units of their standard deviations. */
  z: Float64Array;
  /** [k, k] row-major: the correlations of these margins. Probust.mvn computes p = Phi_R(z). */
  R: Float64Array;
}

export interface SweepOptions extends NoiseOptions, PointOptions, EventOptions, BudgetOptions {
  /** The noise scales, all positive. */
  sigmas: Numbers;
  /** The noise model, whose scale is replaced by each of `sigmas`; "gaussian:1" by default. */
  noise?: NoiseModel;
  /** The estimator; "auto" by default. */
  estimator?: string;
  /** Whether to smooth over the noise scales, for estimators that support it. */
  smooth?: boolean;
}

/** p as a function of the noise scale: columns of equal length, NaN for missing numbers. */
export interface Curve {
  sigmas: Float64Array;
  p: Float64Array;
  pFail: Float64Array;
  stdError: Float64Array;
  ciLow: Float64Array;
  ciHigh: Float64Array;
  forwards: Float64Array;
  backwards: Float64Array;
  status: Status[];
  method: string[];
  note: (string | null)[];
}

export interface SliceOptions extends PointOptions {
  /** The points of the plane are x + s u + t v with s and t from -reach to reach, in the units of x; 1 by default. */
  reach?: number;
  /** The number of grid points per side, 2 to 4096; 64 by default. */
  resolution?: number;
}

export interface CloudOptions extends NoiseOptions, Omit<PointOptions, 'target' | 'labels'> {
  /** The noise model, such as "gaussian:0.1". */
  noise: NoiseModel;
  /** The number of noisy samples; 1000 by default. */
  count?: number;
}

/** Options of generated data. */
export interface DataOptions extends CallOptions {
  /** The number of points; 500 by default. */
  count?: number;
  /** The number of classes, for blobs, spirals and rings. */
  classes?: number;
  /** Standard deviation of normal noise on every element. */
  noise?: number;
  /** The seed, a whole number; 0 by default. */
  seed?: number;
}

/** Options of generated pictures. */
export interface PictureOptions extends DataOptions {
  /** Pixels per side, 8 to 256; 28 by default. */
  side?: number;
}

/** Points with labels to train on. */
export interface LabelledPoints {
  /** [N, ...] points, one after another. */
  x: Numbers;
  /** [N] class numbers, 0 .. classes - 1. */
  labels: Numbers;
  /** The number of classes; by default one more than the largest label. */
  classes?: number | undefined;
  /** The shape of one point; [x.length / N] by default. */
  pointShape?: Numbers | undefined;
}

/** Generated data. */
export interface Dataset extends LabelledPoints {
  /** The points [N, ...pointShape], row-major. */
  x: Float32Array;
  /** The labels [N]. */
  labels: Int32Array;
  classes: number;
  /** The shape of one point: [2], or [1, side, side] for digits. */
  pointShape: number[];
}

/** Options that may change between runs. */
export interface TrainingRates {
  /** Learning rate; 0.005 by default. */
  rate?: number | undefined;
  /**
   * Standard deviation of the Gaussian noise added to each input, with a new draw every time, in the units of x; 0 by default.
   */
  sigma?: number | undefined;
  /** Weight of the mean squared gradient norm ||grad_x loss||² that is added to the loss; 0 by default. */
  lambda?: number | undefined;
  /**
   * If positive, p of the label under Gaussian noise of this standard deviation is maximised (-log p by taylor_mvs is minimised),
   * instead of minimising the cross-entropy. `lambda` must then be 0. 0 by default.
   */
  robustSigma?: number | undefined;
  /** Weight decay; 0 by default. */
  decay?: number | undefined;
}

export interface TrainOptions extends TrainingRates {
  /**
   * 'mlp' by default. 'cnn' is for images of at least 16 x 16 pixels, `pointShape` [C, H, W]: two 5x5 convolutions with 10 and 20
   * filters, each followed by 2x2 max pooling, and a hidden layer of 50 units.
   */
  model?: 'mlp' | 'cnn';
  /** Widths of the hidden layers of 'mlp'; [32] by default. [] means a linear classifier. */
  hidden?: Numbers;
  /** Activation between the layers; 'relu' by default. */
  activation?: 'relu' | 'tanh' | 'gelu' | 'silu';
  /** 'adam' by default. */
  optimizer?: 'adam' | 'sgd';
  /** Points per step; 32 by default. */
  batch?: number;
  /** Seed of initial weights, order of points, and noise; 0 by default. */
  seed?: number;
  /** Memory limit in bytes, which applies separately to weights with their gradients and to activations; 1 GiB by default. */
  memory?: number;
}

/** Options for a training run. Its progress counts training steps and scored batches. */
export interface RunOptions extends TrainingRates, CallOptions {}

/** Loss and accuracy of a network on its training points, without noise. */
export interface Score {
  /** The number of epochs trained so far; not a whole number after an aborted run. */
  epoch: number;
  /** Mean cross-entropy. */
  loss: number;
  /** Fraction of points whose label is the class with the largest logit. */
  accuracy: number;
}

export type { Cloud, NearestBoundary, Slice } from './geometry-types.js';
export type { MvnOptions, MvnResult } from './mvn-types.js';
export type { NoiseModel, Perturbation } from './noise-types.js';

export interface EstimatorInfo {
  name: string;
  /** The form, such as "mmse:N". */
  form: string;
  /** A one-line description. */
  summary: string;
}
