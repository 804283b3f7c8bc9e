// SPDX-License-Identifier: MIT
// The explorer's state. It determines everything on screen, and a shared URL contains it.
import { bool, choice, list, number, numbers, text, type Codec } from './codec.js';

export const labs = ['plane', 'image', 'dataset', 'table'] as const;
export const themes = ['auto', 'light', 'dark'] as const;
const dataSets = ['moons', 'blobs', 'spirals', 'xor', 'rings', 'own'] as const;
export const activations = ['relu', 'tanh', 'gelu'] as const;
export const layouts = ['auto', 'nchw', 'nhwc', 'whcn'] as const;
export const dataSources = ['digits', 'iris'] as const;
export const tableNames = ['iris', 'days'] as const;
export const tableModels = ['forest', 'network', 'regression'] as const;
/** Distributions of the noise in the 2-D lab. */
export const noiseKinds = ['gaussian', 'uniform', 'laplace'] as const;
export const layers = ['tint', 'cloud', 'lines', 'arrow', 'data'] as const;

export type Lab = (typeof labs)[number];
export type Theme = (typeof themes)[number];
export type DataSet = (typeof dataSets)[number];
export type NoiseKind = (typeof noiseKinds)[number];
export type Layer = (typeof layers)[number];
export type Layout = (typeof layouts)[number];
export type DataSource = (typeof dataSources)[number];
export type TableName = (typeof tableNames)[number];
export type TableModel = (typeof tableModels)[number];
export type Activation = (typeof activations)[number];

export interface State {
  lab: Lab;
  theme: Theme;
  /** Whether all estimators and panels are shown, or only those for beginners. */
  more: boolean;
  /** Whether everything is large, for a projector. */
  projector: boolean;
  /** The point of the 2-D lab, in units of its data. */
  x: number[];
  /** The noise of the 2-D lab. Noise that is not Gaussian has independent, equal coordinates. */
  noise: NoiseKind;
  /** Whether noisy samples are clipped to the range of the 2-D lab's sensor. */
  clip: boolean;
  /** The noise scale of the 2-D lab: the root mean square of the standard deviations along the two axes of the ellipse. */
  sigma: number;
  /** Ratio of the long to the short axis of the noise's ellipse. */
  ratio: number;
  /** Angle of the ellipse's long axis, in degrees counter-clockwise from the right. */
  angle: number;
  /** Seed of the noise. */
  seed: number;
  /** The network of the 2-D lab: the name of a pretrained state, "trained", or the URL of an ONNX file. */
  model: string;
  data: DataSet;
  /** Number of classes, for data sets that can have different numbers of classes. */
  classes: number;
  /** Points added by clicks: x, y, class, x, y, class, ... */
  points: number[];
  /** Widths of the hidden layers. */
  hidden: number[];
  activation: Activation;
  /** Weight of the squared norm of the loss's gradient with respect to the input. */
  lambda: number;
  /** Standard deviation of the noise that training adds to its data. */
  augmentation: number;
  /** Seed of data, weights and the order of training. */
  trainSeed: number;
  /** Epochs trained. A page opened with a shared URL trains this many epochs again, with the same result. */
  epochs: number;
  /** Estimators that are listed and compared with the true p. */
  estimators: string[];
  /** The names of the visible panels; if empty, all are visible. */
  panels: string[];
  /** The names of the visible layers of the picture. */
  show: string[];
  /** Whether p against sigma is drawn as log(1 - p). */
  failure: boolean;
  /** The network of the image lab: "digits", "own" for the user's file, or the URL of an ONNX file. */
  imageModel: string;
  /**
   * Subtracted from pixels in [0, 1], which are then divided by `imageStd`: one number for all channels, or one per channel.
   */
  imageMean: number[];
  imageStd: number[];
  imageLayout: Layout;
  /** Names of the classes. A class without a name is shown by its index. */
  imageNames: string[];
  /** The digit that the generator draws. */
  imageDigit: number;
  /** The seed of the digit's shape and position. */
  imageVariant: number;
  /** A drawn or opened image, as encoded by picture.ts; empty for a generated digit. */
  imagePixels: string;
  /** Scale of the noise, in units of pixels in [0, 1]. */
  imageSigma: number;
  /** Number of noisy samples. */
  imageCopies: number;
  /** Whether noisy samples are clipped to [0, 1], as in a camera. */
  imageClip: boolean;
  /** Estimators that are listed and compared with the count of noisy samples. */
  imageEstimators: string[];
  /** The data that the data-set lab shows, unless a file is open. */
  dataSource: DataSource;
  /** The number of points, if they are generated. */
  dataCount: number;
  dataSigma: number;
  /** The seed of the data-set lab's points and of their noise. */
  dataSeed: number;
  /** The selected ranges: the lower and upper end for p, then for softmax. */
  brush: number[];
  /** The class that the user guesses to be the most fragile; -1 if there is no guess yet. */
  guessed: number;
  table: TableName;
  tableModel: TableModel;
  /** The index of the chosen row of the table. */
  tableRow: number;
  /** The values of the row's columns after the user's changes, with categories as indices; empty if nothing was changed. */
  tableX: number[];
  /** Scale of the noise, in standard deviations of each column. */
  tableSigma: number;
  /** Factors of the scale, one for each column of numbers; empty if all are 1. */
  tableFactors: number[];
  /** Probability that a category changes. */
  tableChange: number;
  /** The tolerance: how much a regression's output may change, in its unit; 0 for the table's default. */
  tableTolerance: number;
}

/** Images with longer texts are omitted from links. */
const longestPixels = 8000;

export const initial: Readonly<State> = {
  lab: 'plane',
  theme: 'auto',
  more: false,
  projector: false,
  x: [-0.86, 0.06],
  noise: 'gaussian',
  clip: false,
  sigma: 0.25,
  ratio: 1,
  angle: 0,
  seed: 0,
  model: 'three',
  data: 'spirals',
  classes: 3,
  points: [],
  hidden: [16, 16],
  activation: 'tanh',
  lambda: 0,
  augmentation: 0,
  trainSeed: 0,
  epochs: 0,
  estimators: ['regression:25', 'probit:24', 'mc:25', 'mmse:25', 'adf', 'taylor', 'taylor_mvs', 'softmax:1'],
  panels: [],
  show: [...layers],
  failure: false,
  imageModel: 'digits',
  imageMean: [0],
  imageStd: [1],
  imageLayout: 'auto',
  imageNames: [],
  imageDigit: 5,
  imageVariant: 1,
  imagePixels: '',
  imageSigma: 0.3,
  imageCopies: 1000,
  imageClip: false,
  imageEstimators: ['regression:50', 'probit:50', 'mmse:20', 'adf', 'taylor', 'taylor_mvs', 'softmax:1'],
  dataSource: 'digits',
  dataCount: 500,
  dataSigma: 0.3,
  dataSeed: 0,
  brush: [0, 0.6, 0.9, 1],
  guessed: -1,
  table: 'iris',
  tableModel: 'forest',
  tableRow: 70,
  tableX: [],
  tableSigma: 0.3,
  tableFactors: [],
  tableChange: 0.2,
  tableTolerance: 0,
};

/** How each part is written in a URL. */
export const codecs: { [K in keyof State]: Codec<State[K]> } = {
  lab: choice(labs),
  theme: choice(themes),
  more: bool,
  projector: bool,
  x: numbers({ digits: 3, length: 2, low: -100, high: 100 }),
  noise: choice(noiseKinds),
  clip: bool,
  sigma: number({ digits: 3, low: 0.01, high: 10 }),
  ratio: number({ digits: 2, low: 1, high: 8 }),
  angle: number({ digits: 1, low: -180, high: 180 }),
  seed: number({ digits: 0, low: 0, high: 2 ** 31 }),
  model: text,
  data: choice(dataSets),
  classes: number({ digits: 0, low: 2, high: 6 }),
  points: numbers({ digits: 2, low: -100, high: 100 }),
  hidden: numbers({ digits: 0, low: 1, high: 64 }),
  activation: choice(activations),
  lambda: number({ digits: 4, low: 0, high: 10 }),
  augmentation: number({ digits: 3, low: 0, high: 2 }),
  trainSeed: number({ digits: 0, low: 0, high: 2 ** 31 }),
  epochs: number({ digits: 0, low: 0, high: 100_000 }),
  estimators: list,
  panels: list,
  show: list,
  failure: bool,
  imageModel: text,
  imageMean: numbers({ digits: 6, low: -1e4, high: 1e4 }),
  imageStd: numbers({ digits: 6, low: 1e-4, high: 1e4 }),
  imageLayout: choice(layouts),
  imageNames: list,
  imageDigit: number({ digits: 0, low: 0, high: 9 }),
  imageVariant: number({ digits: 0, low: 0, high: 9999 }),
  imagePixels: { write: (value) => (value.length > longestPixels ? '' : value), read: (value) => value },
  imageSigma: number({ digits: 3, low: 0.005, high: 4 }),
  imageCopies: number({ digits: 0, low: 2, high: 100_000 }),
  imageClip: bool,
  imageEstimators: list,
  dataSource: choice(dataSources),
  dataCount: number({ digits: 0, low: 50, high: 5000 }),
  dataSigma: number({ digits: 3, low: 0.01, high: 4 }),
  dataSeed: number({ digits: 0, low: 0, high: 9999 }),
  brush: numbers({ digits: 3, length: 4, low: 0, high: 1 }),
  guessed: number({ digits: 0, low: -1, high: 1000 }),
  table: choice(tableNames),
  tableModel: choice(tableModels),
  tableRow: number({ digits: 0, low: 0, high: 100_000 }),
  tableX: numbers({ digits: 3, low: -1e6, high: 1e6 }),
  tableSigma: number({ digits: 3, low: 0.01, high: 10 }),
  tableFactors: numbers({ digits: 3, low: 0, high: 100 }),
  tableChange: number({ digits: 3, low: 0, high: 1 }),
  tableTolerance: number({ digits: 4, low: 0, high: 1e6 }),
};

/** The view for beginners: a few estimators in each lab, and no panels that compare several. */
const firstEstimators: Record<'estimators' | 'imageEstimators', string[]> = {
  estimators: ['mc:25', 'taylor', 'softmax:1'],
  imageEstimators: ['taylor', 'softmax:1'],
};
const advanced = ['slopes', 'convergence', 'correlation', 'counting', 'smoothing', 'plane'];

/** The listed estimators: the chosen ones, or those for beginners. */
export function listedOf(state: Readonly<State>, which: 'estimators' | 'imageEstimators'): string[] {
  const chosen = state.more || state[which].join() !== initial[which].join();
  return chosen ? state[which] : firstEstimators[which];
}

/** Whether the estimators for beginners are listed. */
export const isFirstList = (state: Readonly<State>, which: 'estimators' | 'imageEstimators'): boolean =>
  listedOf(state, which) === firstEstimators[which];

/** Whether the lab shows this panel. */
export const isVisible = ({ panels, more }: Readonly<State>, panel: string): boolean =>
  panels.length === 0 ? more || !advanced.includes(panel) : panels.includes(panel);

/** Whether a URL could contain this value for this part. */
function isValid(key: keyof State, value: unknown): boolean {
  if (typeof value !== typeof initial[key] || Array.isArray(value) !== Array.isArray(initial[key])) return false;
  const { write, read } = codecs[key] as Codec<unknown>;
  return read(write(value)) !== undefined;
}

/** The valid parts among a page's values, and the names of the invalid ones. */
export function checked(given: object): { valid: Partial<State>; wrong: string[] } {
  const entries = Object.entries(given).filter(([, value]) => value != null);
  const right = ([key, value]: [string, unknown]) => key in initial && isValid(key as keyof State, value);
  return { valid: Object.fromEntries(entries.filter(right)), wrong: entries.filter((each) => !right(each)).map(([key]) => key) };
}
