// SPDX-License-Identifier: MIT

/** Numbers: a typed array, or a plain one. As points, bytes (unsigned, 8 bits) stand for numbers from 0 to 1, as images store them. */
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
  /** Passes that the call will take, as far as that is known in advance. */
  planned: number;
}

/** Options of every call that may take long. */
export interface CallOptions {
  /** Ends the call with a ProbustError of code `aborted`; the model stays usable. */
  signal?: AbortSignal;
  /** Called between chunks of work. */
  onProgress?: (progress: Progress) => void;
}

export interface ProbustOptions {
  /** Where probust.wasm is; by default next to the script. The other parts, probust-*.wasm, are loaded from the same folder. */
  wasmUrl?: string | URL;
  /** Run in a Web Worker (node: a worker thread), so that the page never blocks. */
  worker?: boolean;
  /** Run in this many workers; points and estimators are spread over them. */
  threads?: number;
  /** Where worker.mjs is; by default next to the script. */
  workerUrl?: string | URL;
  /** Ends the download, and the start of workers. */
  signal?: AbortSignal;
}

/** Options of `probust/threads`. */
export interface ThreadsOptions {
  /** Threads for each call, 1 to 256; by default one per core. */
  threads?: number;
  /** Where threads/worker.mjs is served, with the other files of that folder next to it; by default next to the script. */
  workerUrl?: string | URL;
  /** Where probust-threads.wasm is; by default next to the worker. */
  wasmUrl?: string | URL;
  /** Ends the download, and the start of workers. */
  signal?: AbortSignal;
}

/** An ONNX model: its bytes, its path or URL, a response with it, or a file that the user chose. */
export type ModelSource = ArrayBuffer | ArrayBufferView | string | URL | Response | Blob;

/** How data become the model's input. x, noise, gradients and distances are in units of the data before mean and std. */
export interface ModelOptions {
  /** Subtracted from x: one number for all channels, or one per channel. */
  mean?: Numbers;
  /** x is then divided by it: one number for all channels, or one per channel. */
  std?: Numbers;
  /** The order of the model's input, if x is stored as [C, H, W]; by default derived from the shapes. */
  layout?: 'auto' | 'nchw' | 'nhwc' | 'whcn';
  /** The shape of one point of x, such as [3, 32, 32]; by default that of the model's input without its batch. */
  shape?: Numbers;
  /** The input's shape for one example, if the model leaves more of it open than the batch. */
  inputShape?: Numbers;
  /** The name of the output or inner tensor that decides; by default the only one that can. */
  output?: string;
  /** Of a model with one number: class 1 if it is above; by default 0 for scores and 0.5 for probabilities. */
  threshold?: number;
  /** The values of the output that are the classes, in this order; by default all. */
  outputs?: Numbers;
  /** Bytes that activations and gradients may take; 1 GiB by default. */
  memory?: number;
  /**
   * For regression models: p is then the probability that no output changes by this much or more. There are two classes for each
   * output, too low and too high, and the last class for all within; `logits` gives the outputs. Only `logits`, `estimate` and
   * `sweep` are available.
   */
  tolerance?: number;
  /** The names of the classes, in order; `target`, `groups` and `labels` may then use them. */
  classNames?: readonly string[] | undefined;
  signal?: AbortSignal;
}

export interface Port {
  name: string;
  /** Such as "float32". */
  type: string;
  /** -1 for a symbolic extent. */
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
  /** The engine that runs it: "probust", or for example "onnxruntime-web (webgpu)". */
  engine: string;
  producer: string;
  graph: string;
  opset: number;
  /** Elements of floating-point weights; NaN for a function. */
  parameters: number;
  /** Floating-point operations of one forward pass of one example; NaN if another engine runs it. */
  flops: number;
  /** C, the number of logits. */
  classes: number;
  /** The names of the classes, if they were given. */
  classNames?: string[];
  /** The shape of one point of x. */
  pointShape: number[];
  /** The ONNX input's shape with a batch of 1. */
  inputShape: number[];
  /** The name of the output taken as logits. */
  logits: string;
  /** What decides the class, in one line, such as "class 1 if 'score' > 0"; empty if another engine or a function answers. */
  decision: string;
  /** If one number decides: class 1 if it is above this, in the output's own units. */
  threshold?: number;
  inputs: Port[];
  outputs: Port[];
  operators: OperatorUse[];
  /** Decisions made while loading, one sentence each. */
  notes: string[];
}

/** Numbers that a noise text refers to by name, as in "gaussian:cov=mine". */
export interface NamedArray {
  /** Row-major. */
  data: Numbers;
  /** [d] or [N, d] for std and diag; [d, d] or [N, d, d] for cov; [d, r] or [N, d, r] for factor. */
  shape: Numbers;
}

/** One feature in one-hot columns. */
export interface CategoryGroup {
  /** The k columns. */
  columns: Numbers;
  /** [k, k] row-major: the probability of each value (column), given the current one (row). */
  transitions: Numbers;
}

/** Options of the noise, in addition to its text. */
export interface NoiseOptions {
  /** Arrays that the noise text names instead of files. */
  arrays?: Record<string, NamedArray>;
  /** Groups that "categorical:NAME" names. */
  categories?: Record<string, CategoryGroup[]>;
  /** Noisy copies are clipped to [low, high], in the units of x. */
  clip?: readonly [number, number];
  /** ... and rounded to this many evenly spaced values in that range. */
  levels?: number;
}

/** Options of calls about points of the data. */
export interface PointOptions extends CallOptions {
  /** Seed of the noise, a whole number; 0 by default. The same seed gives the same noise here and on the command line. */
  seed?: number | undefined;
  /** The position of the (first) point in its data, which also keys its noise; 0 by default. */
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

/** What has to survive, if not the target alone. */
export interface EventOptions {
  /** Classes that count as one, by number or name: '0,1/2,3', or [[0, 1], [2, 3]]. */
  groups?: string | readonly (readonly (number | string)[])[] | undefined;
  /** The target need only stay among this many largest logits; 1 by default. For `mc` and `auto`. */
  top?: number | undefined;
}

/** What `auto` may spend, and what points share. */
export interface BudgetOptions {
  /** For "auto": forwards per point and noise. */
  budget?: number | undefined;
  /** "auto" does not let points share draws of the noise, so that their errors are independent. */
  independent?: boolean | undefined;
  /** What points of "probit" and "regression" share ("none" by default); "auto" decides, unless it is "none". */
  share?: 'none' | 'pooled' | 'learned' | 'draws' | undefined;
}

export interface EstimateOptions extends NoiseOptions, PointOptions, EventOptions, BudgetOptions {
  /** Such as "gaussian:0.1", "uniform:0.1", "gaussian:0.1@0..3+laplace:0.2@4"; several give a row each. */
  noise: string | readonly string[];
  /** Such as "taylor", "mmse:10", "mc:10000" (Probust.estimators lists all); "auto" by default. */
  estimators?: string | readonly string[] | undefined;
  /** Rows also have `classes`, the probability of every class to win (or to be among the `top`). */
  perClass?: boolean | undefined;
  /** For "auto": forwards for all points and noises together, spent where they reduce the error most. */
  totalBudget?: number | undefined;
  /** Fits a smooth curve to each sweep of three scales or more, which reduces the error. */
  smooth?: boolean | undefined;
  /** Corrects `probit`, `regression` and `auto` by the bias that the copies of all points show. Needs 30 points or more. */
  calibrate?: boolean | undefined;
  /**
   * Whether to check first, on up to 100 points, that points, preprocessing and labels suit the model; by default if there are
   * labels, or 20 points or more. What is suspicious is a warning, and noted in every row.
   */
  check?: boolean | undefined;
  /** Gets each warning; by default the console does. */
  onWarning?: ((warning: string) => void) | undefined;
}

/** What an estimate is worth, in one word; docs/estimators.md explains them. */
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

/** One estimate. Numbers that could not be computed are null, and `status` and `note` say why. */
export interface Row {
  /** Position of the point in its data. */
  index: number;
  /** The label that was given, or null. */
  label: number | null;
  /** argmax of the logits at x; on a tie, the lowest index. */
  predicted: number;
  /** The class whose survival is estimated. */
  target: number;
  /** Canonical text. */
  noise: string;
  /** The scale, for noise with one parameter. */
  sigma: number | null;
  /** Canonical text. */
  estimator: string;
  /** Estimated probability that the prediction is kept. */
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
  /** The estimator that gave the answer: `estimator`, or the one that it chose. */
  method: string;
  /** A sentence for people, or null. */
  note: string | null;
  /** Probability that noisy points get the label, from the same passes, with its 95% interval; null without a label. */
  pLabel?: number | null;
  pLabelLow?: number | null;
  pLabelHigh?: number | null;
  /** [C] With `perClass`: the probability of each class to win, or to be among the `top`. */
  classes?: (number | null)[];
  /** The model's name, in rows of a run with several models. */
  model?: string;
}

export interface LinearizeOptions extends NoiseOptions, PointOptions {
  /** 0 (the default): linearise at x. N > 0: average margins and gradients over N noisy copies. */
  samples?: number;
}

/** The classifier linearised around a point. Rivals are the classes other than the target, in order: m = C - 1. */
export interface Linearization {
  target: number;
  /** The noise's scale, sigma. */
  scale: number;
  /** [m] f_t - f_i. */
  margins: Float64Array;
  /** [m, d] row-major: their gradients. */
  gradients: Float32Array;
  /** [m, m] row-major: the covariance of the linearised margins at unit scale; times sigma² for the noise's scale. */
  gram: Float64Array;
  /** [k] rows (of `margins`) of the boundaries that noise can cross; z and R are about these. */
  rivals: Int32Array;
  /** [k] margins in standard deviations. */
  z: Float64Array;
  /** [k, k] row-major: correlations. Probust.mvn computes p = Phi_R(z). */
  R: Float64Array;
}

export interface SweepOptions extends NoiseOptions, PointOptions, EventOptions, BudgetOptions {
  /** The scales of the noise, all positive. */
  sigmas: Numbers;
  /** The kind of noise; its own scale is replaced. "gaussian:1" by default. */
  noise?: string;
  /** "auto" by default. */
  estimator?: string;
  /** Whether to smooth over the scales, for estimators that allow it. */
  smooth?: boolean;
}

/** p as a function of the noise's scale: columns of equal length, NaN if there is no number. */
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
  /** s and t of x + s u + t v run from -reach to reach, in the units of x; 1 by default. */
  reach?: number;
  /** Points per side, 2 to 4096; 64 by default. */
  resolution?: number;
}

/** Decision regions on a plane through x. Element [row * resolution + column]: t depends on the row, s on the column. */
export interface Slice {
  resolution: number;
  reach: number;
  /** [d] orthonormal directions. */
  u: Float64Array;
  v: Float64Array;
  /** [resolution²] classes; -1 if logits are NaN. */
  predicted: Int32Array;
  /** [resolution²] margin of the target over its strongest rival: zero on the boundary. */
  margin: Float64Array;
}

export interface CloudOptions extends NoiseOptions, Omit<PointOptions, 'target' | 'labels'> {
  /** Such as "gaussian:0.1". */
  noise: string;
  /** How many copies; 1000 by default. */
  count?: number;
}

/** Noisy copies of a point: exactly those that "mc:N" counts with the same seed and index. */
export interface Cloud {
  /** [n, d] row-major, in the units of the data. */
  x: Float32Array;
  /** [n] argmax of the logits; on a tie, the lowest index; -1 if they are NaN. */
  predicted: Int32Array;
}

/** The nearest point found with another answer: exact for linear models, otherwise an upper bound. */
export interface NearestBoundary {
  /** Euclidean, in the units of the data; Infinity if none was found, NaN if logits are NaN. */
  distance: number;
  /** The class there; -1 if none was found. */
  rival: number;
  /** [d] from x to just beyond the boundary; zeros if none was found. */
  step: Float32Array;
  /** Passes spent. */
  forwards: number;
  backwards: number;
}

/** Options of generated data. */
export interface DataOptions extends CallOptions {
  /** Points; 500 by default. */
  count?: number;
  /** Number of classes, for kinds that leave a choice. */
  classes?: number;
  /** Standard deviation of normal noise on every element. */
  noise?: number;
  /** A whole number; 0 by default. */
  seed?: number;
}

/** Options of generated pictures. */
export interface PictureOptions extends DataOptions {
  /** Pixels per side, 8 to 256; 28 by default. */
  side?: number;
}

/** Points with labels to train on. */
export interface LabelledPoints {
  /** [N, ...] one after another. */
  x: Numbers;
  /** [N] 0 .. classes - 1. */
  labels: Numbers;
  /** One more than the largest label by default. */
  classes?: number | undefined;
  /** The shape of one point; [x.length / N] by default. */
  pointShape?: Numbers | undefined;
}

/** Generated data. */
export interface Dataset extends LabelledPoints {
  /** [N, ...pointShape] row-major. */
  x: Float32Array;
  /** [N] */
  labels: Int32Array;
  classes: number;
  /** [2], or [1, side, side] for digits. */
  pointShape: number[];
}

/** Options that may change between runs of a training. */
export interface TrainingRates {
  /** Learning rate; 0.005 by default. */
  rate?: number | undefined;
  /** Standard deviation of the Gaussian noise, drawn anew for every input, in the units of x; 0 by default. */
  sigma?: number | undefined;
  /** Weight of the mean squared gradient norm ||grad_x loss||² that is added to the loss; 0 by default. */
  lambda?: number | undefined;
  /** Weight decay; 0 by default. */
  decay?: number | undefined;
}

export interface TrainOptions extends TrainingRates {
  /**
   * 'mlp' by default. 'cnn' takes images of at least 16 x 16 pixels, `pointShape` [C, H, W]: two 5x5 convolutions with 10 and 20
   * filters, each followed by 2x2 maxima, and a layer of 50.
   */
  model?: 'mlp' | 'cnn';
  /** Widths of the hidden layers of 'mlp'; [32] by default. [] gives a linear classifier. */
  hidden?: Numbers;
  /** Activation between the layers; 'relu' by default. */
  activation?: 'relu' | 'tanh' | 'gelu' | 'silu';
  /** 'adam' by default. */
  optimizer?: 'adam' | 'sgd';
  /** Points per step; 32 by default. */
  batch?: number;
  /** Seed of initial weights, order of points, and noise; 0 by default. */
  seed?: number;
  /** Bytes for weights and their gradients, and the same again for activations; 1 GiB by default. */
  memory?: number;
}

/** Progress counts training steps and scored batches. */
export interface RunOptions extends TrainingRates, CallOptions {}

/** Loss and accuracy of a network on its training points, without noise. */
export interface Score {
  /** Epochs trained so far; not a whole number after an aborted run. */
  epoch: number;
  /** Mean cross-entropy. */
  loss: number;
  /** Fraction of points whose label has the largest logit. */
  accuracy: number;
}

export interface VerifyOptions extends CallOptions {
  /** Points [N, ...] of your data. */
  x?: Numbers;
}

/** Difference between two models' logits. */
export interface Verification {
  /** Points compared. */
  points: number;
  /** The largest absolute difference of two logits; Infinity if one of them is NaN. */
  largest: number;
  /** `largest` divided by the largest absolute logit. */
  relative: number;
  /** The largest differences: the worst class of each of the worst points, at most five, worst first. */
  worst: { point: number; class: number; own: number; other: number; difference: number }[];
  /** Whether the predicted classes are the same everywhere. */
  argmaxAgrees: boolean;
  /** Indices of points with different predicted classes. */
  disagreements: number[];
}

export type { MvnOptions, MvnResult } from './mvn-types.js';

export interface EstimatorInfo {
  name: string;
  /** How it is written, such as "mmse:N". */
  form: string;
  /** A one-line description. */
  summary: string;
}
