// SPDX-License-Identifier: MIT
// `probust/analysis`: what the commands summary, bias, rank, agree, curve and distance make of rows. The numbers are the command
// line's, from the same code; names are those of its JSON in camel case.
import type { Probust } from './api.js';
import { callNames, optionsOf, type Names } from './arguments.js';
import { usage } from './errors.js';
import type { Model } from './model.js';
import type { CallOptions, NearestBoundary, Numbers, PointOptions, Row, Status } from './types.js';

/** What the rows of a group have in common. */
export interface GroupKey {
  /** In rows of several models. */
  model?: string;
  noise: string;
  sigma: number | null;
  estimator: string;
}

/** A mean over points that have p, with its 95% interval unless said otherwise. */
export interface Mean {
  mean: number | null;
  ciLow: number | null;
  ciHigh: number | null;
  /** The points that have p. */
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
    /** Accuracy under noise: the mean probability of the label, over the points that have it. */
    noisyAccuracy: Mean;
    p: Mean;
    /** Of p, by share: '0', '0.05', '0.25', '0.5', '0.75', '0.95', '1'. */
    quantiles: Record<string, number | null>;
    /** How many points have no p, by status. */
    unanswered: Partial<Record<Status, number>>;
    forwards: number;
    backwards: number;
  })[];
}

export interface Bias extends GroupKey {
  /** Classes are labels; without labels, predictions. */
  by: 'label' | 'predicted';
  /** Classes with two points or more: their intervals are adjusted for this many comparisons. */
  compared: number;
  /** Of each class's interval. */
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
   * The classes that may be the least robust, ascending by mean: the lowest of those with two points or more, and those that
   * cannot be told from it. Empty if no class has two points.
   */
  fragile: number[];
}

export interface Ranking extends GroupKey {
  /** Points that have p. */
  points: number;
  /** From the least robust upwards. */
  least: Row[];
  /** From the most robust downwards. */
  most: Row[];
}

/** Two estimates of p of the same points. */
export interface Comparison {
  model?: string;
  noise: string;
  sigma: number | null;
  /** Estimators; b may be 'softmax of the logits'. */
  a: string;
  b: string;
  count: number;
  pearson: number | null;
  spearman: number | null;
  meanAbsoluteError: number | null;
  /** The mean of a - b. */
  meanDifference: number | null;
  largestDifference: number | null;
  relativeError: number | null;
  relativeErrorOfPFail: number | null;
}

interface PointFacts {
  index: number;
  label: number | null;
  predicted: number;
  target: number;
}

/** The sigma at which p falls to the threshold; less than it if `below`, more if `above`. */
export interface ToleratedScale {
  kind: 'within' | 'below' | 'above';
  sigma: number;
}

/** p against sigma. */
export interface SigmaCurve {
  model?: string;
  /** Without its scale: 'gaussian'. */
  noise: string;
  estimator: string;
  scales: { sigma: number; p: Mean }[];
  tolerated: {
    threshold: number;
    below: number;
    within: number;
    above: number;
    unanswered: number;
    /** By share: '0.05', '0.25', '0.5', '0.75', '0.95'. */
    quantiles: Record<string, ToleratedScale>;
    points: (PointFacts & ToleratedScale)[];
  };
}

export interface Distances extends GroupKey {
  /** Of each certificate. */
  confidence: number;
  /** Why there are no certified radii, or null. */
  noCertificates: string | null;
  /** Points with a certified radius above 0. */
  certified: number;
  spearmanOfBoundaryAndP: number | null;
  points: (PointFacts & {
    p: number | null;
    /** A lower bound of p, from counts. */
    pLow: number | null;
    certifiedRadius: number | null;
    /** The distance of the nearest boundary; null if none was found. */
    boundary?: number | null;
    rival?: number | null;
  })[];
}

/** The nearest boundary of the point at a position of the data. */
export type Boundary = Pick<NearestBoundary, 'distance' | 'rival'> & { index: number };

export interface RankOptions {
  /** Points at each end; 10 by default. */
  count?: number;
}

export interface AgreeOptions {
  /** Logits [N, C] of the rows' points: then estimators are compared with the softmax probability, too. */
  logits?: Numbers;
  /** The position of the first of them; 0 by default. */
  index?: number;
}

export interface CurveOptions {
  /** Of p; 0.9 by default. */
  threshold?: number;
}

export interface DistanceOptions {
  /** Of each certified radius; 0.999 by default. */
  confidence?: number;
  /** From `boundaries`. */
  boundaries?: readonly Boundary[];
}

function copied(row: Row): Row {
  if (typeof row !== 'object' || row === null) return row; // which is refused later
  const { classes } = row;
  return { ...row, ...(classes && { classes: [...classes] }) };
}

function ask(probust: Probust, operation: string, rows: readonly Row[], more: object = {}): Promise<unknown> {
  if (typeof probust?.analyse !== 'function') {
    throw usage(`${operation}: the first argument is not a result of createProbust`);
  }
  if (!Array.isArray(rows)) throw usage(`${operation}: the rows are no list`, 'give the result of estimate');
  // Copies, because no worker can be sent the proxies of frameworks.
  return probust.analyse(operation, { ...more, rows: rows.map(copied) });
}

/** A run at a glance: clean accuracy by model, and p by noise and estimator. */
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

/** How far estimators agree with each other. */
export async function agree(probust: Probust, rows: readonly Row[], options: AgreeOptions = {}): Promise<Comparison[]> {
  const { logits, index = 0 } = optionsOf('agree', options, agreeNames);
  if (logits === undefined) return (await ask(probust, 'agree', rows)) as Comparison[];
  const indices = new Set(rows.map((row) => row.index));
  const classes = logits.length / indices.size;
  if (!Number.isInteger(classes)) {
    throw usage(`logits: are ${logits.length} numbers`, `give as many for each of the ${indices.size} points`);
  }
  const points = Array.from({ length: indices.size }, (_, i) => ({
    index: index + i,
    logits: logits.slice(i * classes, (i + 1) * classes),
  }));
  return (await ask(probust, 'agree', rows, { points })) as Comparison[];
}

const curveNames: Names<CurveOptions> = { threshold: true };

/** p against sigma, of rows with several scales of one noise; and the scale at which each point's p falls to a threshold. */
export async function curve(probust: Probust, rows: readonly Row[], options: CurveOptions = {}): Promise<SigmaCurve[]> {
  return (await ask(probust, 'curve', rows, optionsOf('curve', options, curveNames))) as SigmaCurve[];
}

const distanceNames: Names<DistanceOptions> = { confidence: true, boundaries: true };

/** Certified radii, from rows of `mc:N` under Gaussian noise, and distances to the nearest boundaries, next to p. */
export async function distance(probust: Probust, rows: readonly Row[], options: DistanceOptions = {}): Promise<Distances[]> {
  return (await ask(probust, 'distance', rows, optionsOf('distance', options, distanceNames))) as Distances[];
}

type BoundaryOptions = Pick<PointOptions, 'seed' | 'index'> & CallOptions;
const boundaryNames: Names<BoundaryOptions> = { ...callNames, seed: true, index: true };

/** The nearest boundary of every point of x [N, ...], for `distance`. */
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
