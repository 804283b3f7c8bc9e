// SPDX-License-Identifier: MIT
// The image lab's requests to probust. Every function is one request; all numbers come from the core.
import type { Cloud, Linearization, Model, ProbustError, ModelInfo, NearestBoundary, NoiseOptions, Row, Slice } from 'probust';
import { within } from '../../engine/latest.js';
import type { Curves } from '../../panels/curves.js';
import type { State } from '../../state/state.js';
import type { Loaded } from './models.js';
import type { Picture } from './picture.js';

/** Parameters of every request. */
export interface Asked {
  x: Float32Array;
  sigma: number;
  seed: number;
  copies: number;
  clip: boolean;
}

export const askedOf = (state: Readonly<State>, { values }: Picture): Asked => ({
  x: values,
  sigma: state.imageSigma,
  seed: state.seed,
  copies: state.imageCopies,
  clip: state.imageClip,
});

type NoiseOf = NoiseOptions & { seed: number; signal: AbortSignal };

const noiseOf = ({ seed, clip }: Asked, signal: AbortSignal): NoiseOf => ({ seed, signal, ...(clip && { clip: [0, 1] }) });

/** The samples must fit into memory, however large the image is. */
const mostValues = 4 << 20;
const cloudCount = ({ x, copies }: Asked): number => Math.max(2, Math.min(copies, Math.floor(mostValues / x.length)));

/**
 * The results that are computed for every move of the pen or the slider, such as the count, and exactly the samples that were
 * counted.
 */
export interface Quick {
  asked: Asked;
  row: Row;
  cloud: Cloud;
  /** Undefined for models without gradients. */
  linear: Linearization | undefined;
}

export const countForm = ({ copies }: Pick<Asked, 'copies'>): string => `mc:${copies}`;

export async function askQuick({ model, refusal }: Loaded, asked: Asked, signal: AbortSignal): Promise<Quick> {
  const noise = `gaussian:${asked.sigma}`;
  const options = noiseOf(asked, signal);
  const [rows, cloud, linear] = await Promise.all([
    model.estimate(asked.x, { ...options, noise, estimators: countForm(asked) }),
    model.cloud(asked.x, { ...options, noise, count: cloudCount(asked) }),
    refusal === undefined ? gradients(model, asked.x, noise, signal) : undefined,
  ]);
  return { asked, row: rows[0]!, cloud, linear };
}

/** Whether the error means that the core does not support the request for this model. */
const isRefusal = (error: unknown): error is ProbustError =>
  ['unsupported', 'usage'].includes((error as { code?: string } | null)?.code ?? '');

async function gradients(model: Model, x: Float32Array, noise: string, signal: AbortSignal): Promise<Linearization | undefined> {
  try {
    return await model.linearize(x, noise, { signal });
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

/** One row per noise. If the estimator does not support the request, the rows have no p, but a note with the reason. */
async function rowsOf(model: Model, asked: Asked, noise: string[], form: string, signal: AbortSignal): Promise<Row[]> {
  try {
    return await model.estimate(asked.x, { ...noiseOf(asked, signal), noise, estimators: form });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return noise.map((each) => refusedRow(each, form, error.message));
  }
}

const refusedRow = (noise: string, estimator: string, note: string): Row => ({
  ...{ index: 0, label: null, predicted: -1, target: -1, noise, sigma: null, estimator, p: null, pFail: null },
  ...{ stdError: null, ciLow: null, ciHigh: null, forwards: 0, backwards: 0 },
  ...{ status: 'unsupported', method: estimator, note },
});

export interface Listed {
  /** The requested estimators, one per row. */
  forms: string[];
  rows: Row[];
  /** Undefined if the search takes too long: without gradients, it is random and makes thousands of sequential passes. */
  boundary: NearestBoundary | undefined;
}

const searchMilliseconds = 4000;

export async function askListed({ model, refusal }: Loaded, asked: Asked, forms: string[], signal: AbortSignal): Promise<Listed> {
  const noise = [`gaussian:${asked.sigma}`];
  const [rows, boundary] = await Promise.all([
    Promise.all(forms.map((form) => rowsOf(model, asked, noise, form, signal))),
    refusal === undefined
      ? within(searchMilliseconds, signal, (limited) => model.nearestBoundary(asked.x, { seed: asked.seed, signal: limited }))
      : undefined,
  ]);
  return { forms, rows: rows.flat(), boundary };
}

const scales = [0.02, 0.035, 0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4, 0.56, 0.8, 1];

/** The curve of `mc` is the first. Yields after each estimator, so that something can be drawn early. */
export async function* askCurves(model: Model, asked: Asked, forms: string[], signal: AbortSignal): AsyncGenerator<Curves> {
  const noise = scales.map((sigma) => `gaussian:${sigma}`);
  const byEstimator = new Map<string, Row[]>();
  for (const form of [countForm(asked), ...forms]) {
    byEstimator.set(form, await rowsOf(model, asked, noise, form, signal));
    yield { sigmas: scales, byEstimator };
  }
}

/** The plane through x, and the noisy samples projected onto it. */
export interface Plane {
  slice: Slice;
  /** [n, 2] coordinates along u and v. */
  copies: Float32Array;
  predicted: Int32Array;
  /** The nearest boundary in the same coordinates. */
  step: readonly [number, number] | undefined;
}

const planeCopies = 300;

/** The number of FLOPs to spend on the whole plane, which takes a second or two. */
const planeFlops = 1.2e10;

function resolutionOf({ flops }: ModelInfo): number {
  const most = Number.isNaN(flops) ? 33 : Math.floor(Math.sqrt(planeFlops / flops));
  return Math.max(25, Math.min(129, most));
}

function projections({ u, v }: Slice, x: Float32Array, points: Float32Array): Float32Array {
  const count = points.length / x.length;
  const out = new Float32Array(2 * count);
  for (let i = 0; i < count; ++i) {
    for (let j = 0; j < x.length; ++j) {
      const away = points[i * x.length + j]! - x[j]!;
      out[2 * i]! += away * u[j]!;
      out[2 * i + 1]! += away * v[j]!;
    }
  }
  return out;
}

const difference = (a: Float32Array, b: Float32Array): Float32Array => a.map((value, i) => value - b[i]!);

/**
 * The plane spanned by the gradients of the two smallest margins or, without gradients, by the noise of the first two samples.
 */
export async function askPlane(
  model: Model,
  asked: Asked,
  boundary: NearestBoundary | undefined,
  signal: AbortSignal,
): Promise<Plane> {
  const { x } = asked;
  const options = { ...noiseOf(asked, signal), noise: `gaussian:${asked.sigma}` };
  const cloud = await model.cloud(x, { ...options, count: Math.min(planeCopies, cloudCount(asked)) });
  const copy = (i: number) => difference(cloud.x.subarray(i * x.length, (i + 1) * x.length), x);
  const [u, v] = boundary ? [null, null] : [copy(0), copy(1)];
  const near = boundary && Number.isFinite(boundary.distance) ? 1.25 * boundary.distance : 0;
  const reach = Math.max(2.8 * asked.sigma, near);
  const slice = await model.slice(x, u, v, { reach, resolution: resolutionOf(model.info), signal });
  const copies = projections(slice, x, cloud.x);
  const step =
    boundary &&
    projections(
      slice,
      x,
      boundary.step.map((value, i) => value + x[i]!),
    );
  return { slice, copies, predicted: cloud.predicted, step: step && [step[0]!, step[1]!] };
}

/** One noisy sample per noise scale, all from the same draw. */
export interface Preview {
  sigma: number;
  values: Float32Array;
  predicted: number;
}

export const previewScales = [0.05, 0.1, 0.2, 0.4, 0.8];

export const askPreviews = (model: Model, asked: Asked, signal: AbortSignal): Promise<Preview[]> =>
  Promise.all(
    previewScales.map(async (sigma) => {
      const { x, predicted } = await model.cloud(asked.x, { ...noiseOf(asked, signal), noise: `gaussian:${sigma}`, count: 1 });
      return { sigma, values: x, predicted: predicted[0]! };
    }),
  );
