// SPDX-License-Identifier: MIT
// The 2-D lab's requests to probust. Every function is one request; all numbers come from the core.
import type { Cloud, Linearization, Model, NearestBoundary, Probust, Row } from 'probust';
import type { Convergence } from '../../panels/convergence.js';
import type { Counted } from '../../panels/counting.js';
import type { Curves } from '../../panels/curves.js';
import type { State } from '../../state/state.js';
import { noiseOf, type Noise } from './noise.js';

export const cloudCount = 300;

/**
 * The true p, by quadrature on three grids: for every frame, for a point at rest, and for the chart of errors, which begins at 1e-5.
 * The error is less than half of the last digit shown.
 */
const quickTruth = 'quadrature:128';
const fineTruth = 'quadrature:256';
const finestTruth = 'quadrature:512';
/** The estimator for certified radii, which are computed from counts. */
const certifying = 'mc:10000';

/** The parts of the state that a request about a point depends on. */
export type Asked = Readonly<Pick<State, 'x' | 'noise' | 'clip' | 'sigma' | 'ratio' | 'angle' | 'seed'>>;

/** The results that are computed for every frame of a drag. */
export interface Quick {
  asked: Asked;
  truth: Row;
  linear: Linearization;
  cloud: Cloud;
}

export async function askQuick(model: Model, asked: Asked, signal: AbortSignal): Promise<Quick> {
  const options = { ...noiseOf(asked), seed: asked.seed, signal };
  const [rows, linear, cloud] = await Promise.all([
    model.estimate(asked.x, { ...options, estimators: quickTruth }),
    model.linearize(asked.x, options.noise, options),
    model.cloud(asked.x, { ...options, count: cloudCount }),
  ]);
  return { asked, truth: rows[0]!, linear, cloud };
}

/** The smoothed classifier, which predicts the class that noisy samples get most often (Cohen et al. 2019). */
export interface Votes {
  /** A row for each class as the target. */
  rows: Row[];
  winner: number;
  /** The certified radius, computed from counts; null if there is none. */
  radius: number | null;
  /** The lower bound of the winner's share, which determines the radius. */
  pLow: number | null;
  /** Why there is no radius for this noise, or null. */
  reason: string | null;
}

/** Rows of the listed estimators, the averaged linearisation that `mmse` uses, and the nearest boundary. */
export interface Listed {
  asked: Asked;
  truth: Row;
  /** The requested estimators, one per row. */
  forms: string[];
  rows: Row[];
  mmse: Linearization;
  boundary: NearestBoundary;
}

/** The number of samples in a form such as "mmse:5"; `otherwise` if it has none. */
export const samplesOf = (form: string | undefined, otherwise: number): number => Number(form?.split(':')[1] ?? otherwise);

export async function askListed(model: Model, asked: Asked, estimators: string[], signal: AbortSignal): Promise<Listed> {
  const options = { ...noiseOf(asked), seed: asked.seed, signal };
  const mmse = estimators.find((form) => /^mmse(:|$)/.test(form));
  const [[truth, ...rows], linear, boundary] = await Promise.all([
    model.estimate(asked.x, { ...options, estimators: [fineTruth, ...estimators] }),
    model.linearize(asked.x, options.noise, { ...options, samples: samplesOf(mmse, 5) }),
    model.nearestBoundary(asked.x, { signal }),
  ]);
  return { asked, truth: truth!, forms: estimators, rows, mmse: linear, boundary };
}

export async function askCounted(probust: Probust, model: Model, asked: Asked, signal: AbortSignal): Promise<Counted> {
  const noise = noiseOf(asked);
  const { z } = await model.linearize(asked.x, noise.noise, { ...noise, signal });
  const identity = Float64Array.from({ length: z.length ** 2 }, (_, at) => (at % (z.length + 1) === 0 ? 1 : 0));
  const [each, product, rows] = await Promise.all([
    Promise.all(Array.from(z, (value) => probust.mvn([value], [1]))),
    probust.mvn(z, identity),
    model.estimate(asked.x, { ...noise, estimators: ['taylor_mvs', 'taylor', fineTruth], signal }),
  ]);
  const [sigmoid, normal, truth] = rows as [Row, Row, Row];
  const union = each.reduce((sum, { pFail }) => sum + (pFail ?? NaN), 0);
  return { union, product: product.pFail ?? NaN, sigmoid, normal, truth };
}

/** The noise at several scales, to be estimated in one request. */
function noises(asked: Asked, sigmas: readonly number[]): Omit<Noise, 'noise'> & { noise: string[] } {
  const each = sigmas.map((sigma) => noiseOf({ ...asked, sigma }));
  const { noise: _, ...common } = each[0]!;
  return { ...common, noise: each.map(({ noise }) => noise) };
}

/** The smoothed classifier's vote at the point, and the radius within which this vote is certain not to change. */
export async function askVotes(probust: Probust, model: Model, asked: Asked, signal: AbortSignal): Promise<Votes> {
  const classes = Array.from({ length: model.info.classes }, (_, of) => of);
  const options = { ...noiseOf(asked), seed: asked.seed, signal };
  const x = classes.flatMap(() => asked.x);
  const rows = await model.estimate(x, { ...options, target: classes, estimators: fineTruth });
  const winner = rows.reduce((best, row) => ((row.p ?? 0) > (best.p ?? 0) ? row : best)).target;
  const counted = await model.estimate(asked.x, { ...options, target: winner, estimators: certifying });
  const { distance } = await import('probust/analysis');
  const [certificate] = await distance(probust, counted);
  const { certifiedRadius = null, pLow = null } = certificate!.points[0] ?? {};
  return { rows, winner, radius: certifiedRadius, pLow, reason: certificate!.noCertificates };
}

export async function askCurves(
  model: Model,
  asked: Asked,
  sigmas: number[],
  estimators: string[],
  signal: AbortSignal,
): Promise<Curves> {
  const all = [quickTruth, ...estimators];
  const rows = await model.estimate(asked.x, { ...noises(asked, sigmas), seed: asked.seed, estimators: all, signal });
  // Rows are ordered by noise, then by estimator.
  const byEstimator = new Map(all.map((form, i) => [form, rows.filter((_, at) => at % all.length === i)]));
  return { sigmas, byEstimator };
}

const familyNames = ['mc', 'mmse', 'probit', 'regression'];
const budgets = [10, 25, 60, 150, 400, 1000];

/** Yields after each seed, so that something can be drawn early. */
export async function* askConvergence(
  model: Model,
  asked: Asked,
  seeds: number,
  signal: AbortSignal,
): AsyncGenerator<Convergence> {
  const options = { ...noiseOf(asked), signal };
  const [first] = await model.estimate(asked.x, { ...options, estimators: finestTruth });
  const exact = first!.p!;
  const families = familyNames.map((name) => ({ name, runs: budgets.map(() => ({ cost: 0, errors: [] as number[] })) }));
  const estimators = familyNames.flatMap((name) => budgets.map((budget) => `${name}:${budget}`));
  for (let seed = 0; seed < seeds; ++seed) {
    const rows = await model.estimate(asked.x, { ...options, estimators, seed: asked.seed + 1 + seed });
    rows.forEach(({ p, forwards, backwards }, at) => {
      const run = families[Math.floor(at / budgets.length)]!.runs[at % budgets.length]!;
      run.cost = forwards + backwards;
      if (p !== null) run.errors.push(Math.abs(p - exact));
    });
    // Yields a new object each time, so that changes can be detected.
    yield { truth: exact, families };
  }
}
