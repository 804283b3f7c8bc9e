// SPDX-License-Identifier: MIT
// Numbers for the lessons' replies, computed by the package with the network of the 2-D lab.
import type { Linearization, Model, Probust, Row } from 'probust';
import { takeProbust } from 'probust/page';
import type { Pair } from '../draw/view.js';
import { pretrained } from '../labs/plane/models.js';
import { noiseOf } from '../labs/plane/noise.js';
import type { State } from '../state/state.js';

/** Runs a computation with a network, in the worker that the page shares. */
async function using<Result>({ model: name }: Readonly<State>, compute: (model: Model, probust: Probust) => Promise<Result>) {
  const lease = takeProbust('patient');
  try {
    const probust = await lease.probust;
    const model = await probust.loadModel(await pretrained[name]!.read(new AbortController().signal));
    try {
      return await compute(model, probust);
    } finally {
      model.dispose();
    }
  } finally {
    lease.release();
  }
}

const fail = async (probust: Probust, z: number): Promise<number> => (await probust.mvn([z], [1])).pFail ?? NaN;

/** The sum of the rivals' probabilities, with the boundaries linearised at the point. */
export const sumOverRivals = (state: Readonly<State>): Promise<number> =>
  using(state, async (model, probust) => {
    const { z }: Linearization = await model.linearize(state.x, noiseOf(state).noise);
    const each = await Promise.all(Array.from(z, (value) => fail(probust, value)));
    return each.reduce((sum, value) => sum + value, 0);
  });

/** p of each estimator at the point. */
export const estimated = (state: Readonly<State>, estimators: string[]): Promise<Row[]> =>
  using(state, (model) => model.estimate(state.x, { ...noiseOf(state), seed: state.seed, estimators }));

/** The probability, under normal noise, of the side of the line on which the point lies. */
export const sideOfLine = (state: Readonly<State>, [a, b]: readonly [Pair, Pair]): Promise<number> =>
  using(state, async (_, probust) => {
    const [x, y] = state.x as Pair;
    const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
    const distance = Math.abs((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / length;
    return 1 - (await fail(probust, distance / state.sigma));
  });
