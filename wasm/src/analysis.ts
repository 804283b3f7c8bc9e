// SPDX-License-Identifier: MIT
// `probust/analysis`: computes from rows what the commands summary, bias, rank, agree, curve and distance compute. The numbers
// come from the same code as on the command line; the names are those of its JSON, in camel case.
import type { Probust } from './api.js';
import { callNames, optionsOf, type Names } from './arguments.js';
import { usage } from './errors.js';
import type { Model } from './model.js';
import type { CallOptions, NearestBoundary, Numbers, PointOptions, Row, Status } from './types.js';

/** The common properties of the rows of a group. */
export interface GroupKey {
  /** The name of the model; only if there are several models. */
  model?: string;
  noise: string;
  sigma: number | null;
  estimator: string;
}

/** A mean over points that have p, with its interval (95% by default). */
export interface Mean {
  mean: number | null;
  ciLow: number | null;
  ciHigh: number | null;
  /** The number of points that have p. */
  count: number;
}

export interface Summary {
  models: {
    model: string;
    points: number;
    labelled: number;
    correct: number;
    cleanAccuracy: number | null;
    ciLow: number | null;
    ciHigh: number | null;
  }[];
  groups: (GroupKey & {
    points: number;
    /** Accuracy under noise: the mean of `pLabel` over the points that have it. */
    noisyAccuracy: Mean;
    p: Mean;
    /** Quantiles of p, by share: '0', '0.05', '0.25', '0.5', '0.75', '0.95', '1'. */
    quantiles: Record<string, number | null>;
    /** The number of points without p, by status. */
    unanswered: Partial<Record<Status, number>>;
    forwards: number;
    backwards: number;
  })[];
}

export interface Bias extends GroupKey {
  /** What decides the class of a point: its label or, without labels, its prediction. */
  by: 'label' | 'predicted';
  /** The number of classes with at least two points. The intervals are adjusted for this many comparisons. */
  compared: number;
  /** The confidence of each class's interval. */
  confidence: number;
  /** With labels, also the accuracy of each class without noise and under noise. */
  classes: (Mean & { class: number; cleanAccuracy?: number | null; noisyAccuracy?: Mean })[];
  all: Mean;
  largestDifference: {
    most: number;
    least: number;
    difference: number;
    ciLow: number | null;
    ciHigh: number | null;
  } | null;
  /**
   * The classes that may be the least robust, in ascending order of their mean: the lowest class with at least two points, and
   * the classes that do not differ from it significantly. Empty if no class has two points.
   */
  fragile: number[];
}

export interface Ranking extends GroupKey {
  /** The number of points that have p. */
  points: number;
  /** The least robust points, in ascending order of p. */
  least: Row[];
  /** The most robust points, in descending order of p. */
  most: Row[];
}

/** A comparison of two estimates of p for the same points. */
export interface Comparison {
  model?: string;
  noise: string;
  sigma: number | null;
  /** The two estimators; b may also be 'softmax of the logits'. */
  a: string;
  b: string;
  count: number;
  pearson: number | null;
  spearman: number | null;
  meanAbsoluteError: number | null;
  /** The mean of a - b. */
  meanDifference: number | null;
  largestDifference: number | null;
  /** The estimator whose p relative errors are divided by: Monte Carlo, or `a` if neither estimator is. */
  reference: string;
  /** The mean relative error of p over points at which the reference is positive. */
  relativeError: number | null;
  relativeErrorOfPFail: number | null;
}

interface PointFacts {
  index: number;
  label: number | null;
  predicted: number;
  target: number;
}

/**
 * The scale at which p falls to the threshold: `sigma` if `kind` is 'within', less than `sigma` (the smallest scale) if
 * 'below', more than `sigma` (the largest scale) if 'above'.
 */
export interface ToleratedScale {
  kind: 'within' | 'below' | 'above';
  sigma: number;
}

/** p against sigma. */
export interface SigmaCurve {
  model?: string;
  /** The noise model without its scale: 'gaussian'. */
  noise: string;
  estimator: string;
  scales: { sigma: number; p: Mean }[];
  tolerated: {
    threshold: number;
    below: number;
    within: number;
    above: number;
    unanswered: number;
    /** Quantiles of the tolerated scale, by share: '0.05', '0.25', '0.5', '0.75', '0.95'. */
    quantiles: Record<string, ToleratedScale>;
    points: (PointFacts & ToleratedScale)[];
  };
}

export interface Distances extends GroupKey {
  /** The confidence of each certificate. */
  confidence: number;
  /** Why there are no certified radii, or null. */
  noCertificates: string | null;
  /** The number of points with a certified radius above 0. */
  certified: number;
  spearmanOfBoundaryAndP: number | null;
  points: (PointFacts & {
    p: number | null;
    /** A lower bound on p, from the number of samples of `mc:N` that survive. */
    pLow: number | null;
    certifiedRadius: number | null;
    /** The distance to the nearest boundary; null if none was found. */
    boundary?: number | null;
    rival?: number | null;
  })[];
}

/** The nearest boundary to the point at position `index` of the data. */
export type Boundary = Pick<NearestBoundary, 'distance' | 'rival'> & { index: number };

export interface RankOptions {
  /** The number of points at each end of the ranking; 10 by default. */
  count?: number;
}

export interface AgreeOptions {
  /** Logits [N, C] of the rows' points. If given, estimators are also compared with the softmax probability. */
  logits?: Numbers;
  /** The position of the first point of `logits`; 0 by default. */
  index?: number;
}

export interface CurveOptions {
  /** The threshold of p; 0.9 by default. */
  threshold?: number;
}

export interface DistanceOptions {
  /** The confidence of each certified radius; 0.999 by default. */
  confidence?: number;
  /** The result of the function `boundaries`. */
  boundaries?: readonly Boundary[];
}

function copied(row: Row): Row {
  if (typeof row !== 'object' || row === null) return row; // rejected later
  const { classes } = row;
  return { ...row, ...(classes && { classes: [...classes] }) };
}

function ask(probust: Probust, operation: string, rows: readonly Row[], more: object = {}): Promise<unknown> {
  if (typeof probust?.analyse !== 'function') {
    throw usage(`the first argument of ${operation} is not a result of createProbust`, 'give await createProbust()');
  }
  if (!Array.isArray(rows)) throw usage(`the rows for ${operation} are not a list`, 'pass the rows that estimate() returned');
  // Copies the rows, because the proxies of frameworks cannot be sent to workers.
  return probust.analyse(operation, { ...more, rows: rows.map(copied) });
}

/** A summary: clean accuracy by model, and p by noise model and estimator. */
export async function summary(probust: Probust, rows: readonly Row[]): Promise<Summary> {
  return (await ask(probust, 'summary', rows)) as Summary;
}

/** p by class, and the largest difference between classes. */
export async function bias(probust: Probust, rows: readonly Row[]): Promise<Bias[]> {
  return (await ask(probust, 'bias', rows)) as Bias[];
}

const rankNames: Names<RankOptions> = { count: true };

/** The least and the most robust points. */
export async function rank(probust: Probust, rows: readonly Row[], options: RankOptions = {}): Promise<Ranking[]> {
  return (await ask(probust, 'rank', rows, optionsOf('rank', options, rankNames))) as Ranking[];
}

const agreeNames: Names<AgreeOptions> = { logits: true, index: true };

/** The agreement of estimators with each other. */
export async function agree(probust: Probust, rows: readonly Row[], options: AgreeOptions = {}): Promise<Comparison[]> {
  const { logits, index = 0 } = optionsOf('agree', options, agreeNames);
  if (logits === undefined) return (await ask(probust, 'agree', rows)) as Comparison[];
  const indices = new Set(rows.map((row) => row.index));
  const classes = logits.length / indices.size;
  if (!Number.isInteger(classes)) {
    throw usage(`logits has ${logits.length} numbers`, `give each of the ${indices.size} points the same number of logits`);
  }
  const points = Array.from({ length: indices.size }, (_, i) => ({
    index: index + i,
    logits: logits.slice(i * classes, (i + 1) * classes),
  }));
  return (await ask(probust, 'agree', rows, { points })) as Comparison[];
}

const curveNames: Names<CurveOptions> = { threshold: true };

/** p against sigma for rows with several scales of one noise, and the scale at which each point's p falls to a threshold. */
export async function curve(probust: Probust, rows: readonly Row[], options: CurveOptions = {}): Promise<SigmaCurve[]> {
  return (await ask(probust, 'curve', rows, optionsOf('curve', options, curveNames))) as SigmaCurve[];
}

const distanceNames: Names<DistanceOptions> = { confidence: true, boundaries: true };

/**
 * Distances to compare with p: certified radii, from rows of `mc:N` under Gaussian noise, and distances to the nearest
 * boundaries.
 */
export async function distance(probust: Probust, rows: readonly Row[], options: DistanceOptions = {}): Promise<Distances[]> {
  return (await ask(probust, 'distance', rows, optionsOf('distance', options, distanceNames))) as Distances[];
}

type BoundaryOptions = Pick<PointOptions, 'seed' | 'index'> & CallOptions;
const boundaryNames: Names<BoundaryOptions> = { ...callNames, seed: true, index: true };

/** The nearest boundary to each point of x [N, ...], for `distance`. */
export async function boundaries(model: Model, x: Numbers, options: BoundaryOptions = {}): Promise<Boundary[]> {
  const { index = 0, ...rest } = optionsOf('boundaries', options, boundaryNames);
  const size = model.info.pointShape.reduce((product, extent) => product * extent, 1);
  const found: Boundary[] = [];
  for (let i = 0; i * size < x.length; ++i) {
    const point = x.slice(i * size, (i + 1) * size);
    const nearest = await model.nearestBoundary(point, { ...rest, index: index + i });
    found.push({ index: index + i, distance: nearest.distance, rival: nearest.rival });
  }
  return found;
}

export { ProbustError } from './errors.js';
export type { Probust } from './api.js';
export type { Model } from './model.js';
export type { Row } from './types.js';
