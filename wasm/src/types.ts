// SPDX-License-Identifier: MIT

/** Numbers: a typed array, or a plain one. */
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

/** How far a call is. */
export interface Progress {
  /** Forward and backward passes done. */
  passes: number;
  /** Passes that the call takes, as far as that is known beforehand. */
  planned: number;
}

/** What every call that may take long understands. */
export interface CallOptions {
  /** Ends the call with a ProbustError of code `aborted`; the model stays usable. */
  signal?: AbortSignal;
  /** Called between chunks of work. */
  onProgress?: (progress: Progress) => void;
}

export interface ProbustOptions {
  /** Where probust.wasm is; beside the script by default. Give it if your bundler or server moves the file. */
  wasmUrl?: string | URL;
  /** Run in a Web Worker (node: a worker thread), so that the page never waits. */
  worker?: boolean;
  /** Run in so many workers; points and estimators are spread over them. */
  threads?: number;
  /** Where worker.mjs is; beside the script by default. */
  workerUrl?: string | URL;
  /** Ends the download, and the start of workers. */
  signal?: AbortSignal;
}

/** Of `probust/threads`. */
export interface ThreadsOptions {
  /** Threads for each call, 1 to 256; one a core by default. */
  threads?: number;
  /** Where threads/worker.mjs is served, with the other files of that folder beside it; beside the script by default. */
  workerUrl?: string | URL;
  /** Where probust-threads.wasm is; beside the worker by default. */
  wasmUrl?: string | URL;
  /** Ends the download, and the start of workers. */
  signal?: AbortSignal;
}

/** An ONNX model: its bytes, where they are, a response that brings them, or a file that somebody chose. */
export type ModelSource = ArrayBuffer | ArrayBufferView | string | URL | Response | Blob;

/** How data become the model's input. x, noise, gradients and distances are all in units of the data before mean and std. */
export interface ModelOptions {
  /** Subtracted from x: one number for all, or one a channel. */
  mean?: Numbers;
  /** x is then divided by it: likewise. */
  std?: Numbers;
  /** The order the model's input wants, if x is stored as [C, H, W]; told from the shapes by default. */
  layout?: 'auto' | 'nchw' | 'nhwc' | 'whcn';
  /** The shape of one point of x, as [3, 32, 32]; that of the model's input without its batch by default. */
  shape?: Numbers;
  /** The input's shape for one example, where the model leaves more of it open than the batch. */
  inputShape?: Numbers;
  /** The name of the output to take as logits. */
  output?: string;
  /** Bytes that activations and gradients may take; 1 GiB by default. */
  memory?: number;
  signal?: AbortSignal;
}

export interface Port {
  name: string;
  /** As "float32". */
  type: string;
  /** -1 where it is symbolic. */
  shape: number[];
}

export interface OperatorUse {
  opType: string;
  domain: string;
  count: number;
  runs: boolean;
  differentiable: boolean;
}

/** What is known of a model. */
export interface ModelInfo {
  /** What runs it: "probust", or as "onnxruntime-web (webgpu)". */
  engine: string;
  producer: string;
  graph: string;
  opset: number;
  /** Elements of floating-point weights. */
  parameters: number;
  /** Floating-point operations of one forward pass of one example; NaN where another engine runs it. */
  flops: number;
  /** C, the number of logits. */
  classes: number;
  /** The shape of one point of x. */
  pointShape: number[];
  /** The ONNX input's shape at batch one. */
  inputShape: number[];
  /** The name of the output taken as logits. */
  logits: string;
  inputs: Port[];
  outputs: Port[];
  operators: OperatorUse[];
  /** What was decided on the way, one sentence each. */
  notes: string[];
}

/** Numbers that a noise text names, as in "gaussian:cov=mine". */
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
  /** [k, k] row-major: the probability of each value, given the present one. */
  transitions: Numbers;
}

/** What noise is, beside its text. */
export interface NoiseOptions {
  /** What the noise text names in place of a file. */
  arrays?: Record<string, NamedArray>;
  /** What "categorical:NAME" names. */
  categories?: Record<string, CategoryGroup[]>;
  /** Noisy copies are clipped to [low, high], in the units of x. */
  clip?: readonly [number, number];
  /** ... and rounded to so many evenly spaced values of that range. */
  levels?: number;
}

/** What is asked at points of the data. */
export interface PointOptions extends CallOptions {
  /** Of the noise, a whole number: the same seed gives the same noise here and on the command line. 0 by default. */
  seed?: number;
  /** The position of the (first) point in its data, which keys its noise too. 0 by default. */
  index?: number;
  /** The class whose survival is asked for, one a point; the predicted one by default. */
  target?: Numbers;
}

export interface EstimateOptions extends NoiseOptions, PointOptions {
  /** As "gaussian:0.1", "uniform:0.1", "gaussian:0.1@0..3+laplace:0.2@4"; several make a row each. */
  noise: string | readonly string[];
  /** As "taylor", "mmse:10", "mc:10000" (Probust.estimators lists all); "auto" by default. */
  estimators?: string | readonly string[];
}

/** One estimate. Numbers that could not be computed are null, and `status` says why. */
export interface Row {
  /** Position of the point in its data. */
  index: number;
  /** Always null here: labels stay with the caller. */
  label: number | null;
  /** argmax of the logits at x, the lowest index on a tie. */
  predicted: number;
  /** The class whose survival is estimated. */
  target: number;
  /** Canonical text. */
  noise: string;
  /** The scale, for noise of one parameter. */
  sigma: number | null;
  /** Canonical text. */
  estimator: string;
  /** Estimated probability that the prediction is kept. */
  p: number | null;
  /** 1 - p, computed without cancellation. */
  pFail: number | null;
  /** Standard error of p from sampling. */
  stdError: number | null;
  /** 95% confidence interval of p. */
  ciLow: number | null;
  ciHigh: number | null;
  /** Passes spent on this point. */
  forwards: number;
  backwards: number;
  /** "ok", "tie", "nonfinite", "degenerate", ...; more words may follow a colon. */
  status: string;
}

export interface LinearizeOptions extends NoiseOptions, PointOptions {
  /** 0 (the default): linearise at x. Otherwise average margins and gradients over so many noisy copies. */
  samples?: number;
}

/** The classifier seen as linear around a point. Rivals are the classes other than the target, in order: m = C - 1. */
export interface Linearization {
  target: number;
  /** The noise's scale, sigma. */
  scale: number;
  /** [m] f_t - f_i. */
  margins: Float64Array;
  /** [m, d] row-major: their gradients. */
  gradients: Float32Array;
  /** [m, m] row-major: the covariance of the linearised margins at unit scale; sigma² times it at the noise's. */
  gram: Float64Array;
  /** [k] the rows of the boundaries that noise can cross; z and R are theirs. */
  rivals: Int32Array;
  /** [k] margins in standard deviations. */
  z: Float64Array;
  /** [k, k] row-major: correlations. p = Phi_R(z), which Probust.mvn computes. */
  R: Float64Array;
}

export interface SweepOptions extends NoiseOptions, PointOptions {
  /** The scales of the noise, all positive. */
  sigmas: Numbers;
  /** The kind of noise; its own scale is replaced. "gaussian:1" by default. */
  noise?: string;
  /** "auto" by default. */
  estimator?: string;
  /** Whether to smooth over the scales, for estimators that allow it. */
  smooth?: boolean;
}

/** p as a function of the noise's scale: columns of equal length, NaN where there is no number. */
export interface Curve {
  sigmas: Float64Array;
  p: Float64Array;
  pFail: Float64Array;
  stdError: Float64Array;
  ciLow: Float64Array;
  ciHigh: Float64Array;
  forwards: Float64Array;
  backwards: Float64Array;
  status: string[];
}

export interface SliceOptions extends PointOptions {
  /** s and t of x + s u + t v run from -reach to reach, in the units of x; 1 by default. */
  reach?: number;
  /** Points a side, 2 to 4096; 64 by default. */
  resolution?: number;
}

/** Decision regions on a plane through x: element [row * resolution + column] is at t by row, s by column. */
export interface Slice {
  resolution: number;
  reach: number;
  /** [d] orthonormal directions. */
  u: Float64Array;
  v: Float64Array;
  /** [resolution²] classes; -1 where logits are NaN. */
  predicted: Int32Array;
  /** [resolution²] of the target over its strongest rival: zero on the boundary. */
  margin: Float64Array;
}

export interface CloudOptions extends NoiseOptions, Omit<PointOptions, 'target'> {
  /** As "gaussian:0.1". */
  noise: string;
  /** How many copies; 1000 by default. */
  count?: number;
}

/** Noisy copies of a point: the very ones that "mc:N" counts at the same seed and index. */
export interface Cloud {
  /** [n, d] row-major, in the units of the data. */
  x: Float32Array;
  /** [n] argmax of the logits, the lowest index on a tie; -1 where they are NaN. */
  predicted: Int32Array;
}

/** The nearest point with another answer that was found: exact for linear models, otherwise an upper bound. */
export interface NearestBoundary {
  /** Euclidean, in the units of the data; Infinity where none was found, NaN where logits are. */
  distance: number;
  /** The class there; -1 where none was found. */
  rival: number;
  /** [d] from x to just beyond the boundary; zeros where none was found. */
  step: Float32Array;
  /** Passes spent. */
  forwards: number;
  backwards: number;
}

/** What made data shall be. */
export interface DataOptions extends CallOptions {
  /** Points; 500 by default. */
  count?: number;
  /** Where the kind leaves a choice. */
  classes?: number;
  /** Standard deviation of normal noise on every element. */
  noise?: number;
  /** A whole number; 0 by default. */
  seed?: number;
}

/** Of data that are pictures. */
export interface PictureOptions extends DataOptions {
  /** Pixels a side, 8 to 256; 28 by default. */
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

/** Made data. */
export interface Dataset extends LabelledPoints {
  /** [N, ...pointShape] row-major. */
  x: Float32Array;
  /** [N] */
  labels: Int32Array;
  classes: number;
  /** [2], or [1, side, side] of digits. */
  pointShape: number[];
}

/** What may change from run to run of a training. */
export interface TrainingRates {
  /** The optimiser's; 0.005 by default. */
  rate?: number | undefined;
  /** Standard deviation of Gaussian noise that is added to every input afresh, in the units of x; 0 by default. */
  sigma?: number | undefined;
  /** Of the mean squared gradient norm ||grad_x loss||², which is added to the loss; 0 by default. */
  lambda?: number | undefined;
  /** Of weights; 0 by default. */
  decay?: number | undefined;
}

export interface TrainOptions extends TrainingRates {
  /** Widths of the hidden layers; [32] by default. None: a linear classifier. */
  hidden?: Numbers;
  /** Between the layers; 'relu' by default. */
  activation?: 'relu' | 'tanh' | 'gelu';
  /** 'adam' by default. */
  optimizer?: 'adam' | 'sgd';
  /** Points a step; 32 by default. */
  batch?: number;
  /** Of initial weights, the order of points and noise; 0 by default. */
  seed?: number;
  /** Bytes that weights and their gradients may take, and as many for activations; 1 GiB by default. */
  memory?: number;
}

/** Progress counts steps, and batches to be scored. */
export interface RunOptions extends TrainingRates, CallOptions {}

/** How a network does on the points that it is trained on, without noise. */
export interface Score {
  /** Epochs of training so far; a fraction after an aborted run. */
  epoch: number;
  /** Mean cross-entropy. */
  loss: number;
  /** The share of points whose label has the largest logit. */
  accuracy: number;
}

export interface VerifyOptions extends CallOptions {
  /** Points [N, ...] of your data. */
  x?: Numbers;
}

/** How far two models' logits are apart. */
export interface Verification {
  /** Points compared. */
  points: number;
  /** The largest absolute difference of two logits; Infinity where one of them is NaN. */
  largest: number;
  /** The same over the largest absolute logit. */
  relative: number;
  /** Where the differences are largest: the worst class of the worst points, at most five, worst first. */
  worst: { point: number; class: number; own: number; other: number; difference: number }[];
  /** Whether the predicted classes are the same everywhere. */
  argmaxAgrees: boolean;
  /** The points where they are not. */
  disagreements: number[];
}

export interface MvnOptions {
  /** Wanted absolute error of p; 1e-4 by default. */
  abs?: number;
  /** Wanted relative error of 1 - p; 1e-2 by default. */
  relFail?: number;
  seed?: number;
}

/** P(X <= z) with bounds on its error. */
export interface MvnResult {
  p: number | null;
  pFail: number | null;
  error: number | null;
  errorFail: number | null;
  /** The method that gave the answer. */
  method: string;
  /** "ok", or what is wrong. */
  status: string;
}

export interface EstimatorInfo {
  name: string;
  /** How it is written, as "mmse:N". */
  form: string;
  /** One line for people. */
  summary: string;
}
