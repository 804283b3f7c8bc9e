// SPDX-License-Identifier: MIT
// The API in node, in this thread and through workers: results and errors.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Model, Probust } from '../../build/wasm/npm/types/index.js';
import { digits, errorOf, everywhere, expectRefusal, load, point } from './support.js';

const { createProbust, ProbustError } = await load();
const estimators = ['taylor', 'taylor_mvs', 'mmse:10', 'mmse_mvs:4', 'softmax', 'probit:40', 'mc:500'];

describe.each(everywhere)('%s', (_, options) => {
  let probust: Probust;
  let model: Model;
  beforeAll(async () => {
    probust = await createProbust(options);
    model = await probust.loadModel(digits);
  });
  afterAll(() => probust.dispose());

  it('describes itself', () => {
    expect(probust.version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(probust.estimators.map(({ name }) => name)).toContain('mmse');
    expect(model.info).toMatchObject({ classes: 10, pointShape: [1, 16, 16], inputs: [{ type: 'float32' }] });
    expect(model.info.operators.every(({ runs, differentiable }) => runs && differentiable)).toBe(true);
    expect(model.info.flops).toBeGreaterThan(1000);
  });

  it('reads bytes as pixels from 0 to 1', async () => {
    const bytes = Uint8Array.from(point(0, 3), (value) => Math.round(255 * value));
    const pixels = Float32Array.from(bytes, (value) => value / 255);
    expect(await model.logits(bytes)).toEqual(await model.logits(pixels));
    const asked = { noise: 'gaussian:0.1', estimators: 'mc:100' };
    expect(await model.estimate(new Uint8ClampedArray(bytes), asked)).toEqual(await model.estimate(pixels, asked));
    expect(await model.logits(Uint16Array.from(bytes))).toEqual(await model.logits(Float32Array.from(bytes)));
  });

  it('loads from bytes, buffers, URLs and responses', async () => {
    const bytes = readFileSync(digits);
    const sources = [bytes, new Uint8Array(bytes).buffer, pathToFileURL(digits), new Response(bytes)];
    for (const source of sources) {
      const again = await probust.loadModel(source);
      expect(again.info).toEqual(model.info);
      expect(await again.logits(point(1))).toEqual(await model.logits(point(1)));
      again.dispose();
    }
  });

  it('computes the logits of several points', async () => {
    const both = await model.logits(point(0, 2));
    expect(both).toBeInstanceOf(Float32Array);
    expect([...both.slice(10)]).toEqual([...(await model.logits(Array.from(point(1))))]);
  });

  it('returns a row for each point, noise and estimator', async () => {
    const noise = ['gaussian:0.1', 'gaussian:0.2'];
    const rows = await model.estimate(point(0, 10), { noise, estimators, seed: 3, index: 5 });
    expect(rows).toHaveLength(10 * noise.length * estimators.length);
    rows.forEach((row, i) => {
      expect(row.index).toBe(5 + Math.floor(i / (noise.length * estimators.length)));
      expect(row.noise).toBe(noise[Math.floor(i / estimators.length) % noise.length]);
      expect(row.sigma).toBe(row.noise === 'gaussian:0.1' ? 0.1 : 0.2);
      expect(row.estimator).toBe(
        estimators[i % estimators.length]!.replace('softmax', 'softmax:1').replace(/^softmax:1$/, row.estimator),
      );
      if (row.status !== 'bound') expect(row.p! + row.pFail!).toBeCloseTo(1, 12);
      expect(row.status).toMatch(/^ok|^bound/);
    });
    expect(rows[6]).toMatchObject({ forwards: 500, backwards: 0, label: null });
    expect(rows[6]!.ciLow).toBeLessThanOrEqual(rows[6]!.p!);
    expect(rows[0]!.stdError).toBeNull();
  });

  it('does not depend on how points are divided into calls', async () => {
    const options = { noise: 'gaussian:0.3', estimators: ['mc:100', 'probit:20:pooled'] };
    const together = await model.estimate(point(0, 12), options);
    expect(await model.estimate(point(0, 12), options)).toEqual(together);
    const alone = await model.estimate(point(4), { ...options, index: 4, estimators: 'mc:100' });
    expect(alone[0]).toEqual(together[8]);
  });

  it('supports targets, clipping and named arrays', async () => {
    const deviations = { data: new Float64Array(256).fill(0.2), shape: [256] };
    const [isotropic] = await model.estimate(point(2), { noise: 'gaussian:0.2', estimators: 'taylor' });
    const [diagonal] = await model.estimate(point(2), {
      noise: 'gaussian:std=mine',
      estimators: 'taylor',
      arrays: { mine: deviations },
    });
    expect(diagonal!.p).toBeCloseTo(isotropic!.p!, 6);
    const [other] = await model.estimate(point(2), { noise: 'gaussian:0.2', estimators: 'mc:200', target: [9], clip: [0, 1] });
    expect(other!.target).toBe(9);
    expect(other!.p).toBeLessThan(0.5);
  });

  it('linearises, and its normal problem gives the p of taylor', async () => {
    const [row] = await model.estimate(point(3), { noise: 'gaussian:0.25', estimators: 'taylor' });
    const linear = await model.linearize(point(3), 'gaussian:0.25');
    expect(linear.gradients).toHaveLength(9 * 256);
    const gram = (a: number, b: number) => {
      let sum = 0;
      for (let e = 0; e < 256; ++e) sum += linear.gradients[a * 256 + e]! * linear.gradients[b * 256 + e]!;
      return sum;
    };
    expect(linear.gram[2 * 9 + 5]).toBeCloseTo(gram(2, 5), 3);
    expect(linear.z[4]).toBeCloseTo(linear.margins[linear.rivals[4]!]! / (0.25 * Math.sqrt(gram(4, 4))), 4);
    const { p, status } = await probust.mvn(linear.z, linear.R);
    expect(status).toBe('ok');
    expect(p).toBeCloseTo(row!.p!, 4);
    const averaged = await model.linearize(point(3), 'gaussian:0.25', { samples: 5 });
    expect(averaged.margins).not.toEqual(linear.margins);
  });

  it('differentiates p with respect to points', async () => {
    const options = { noise: 'gaussian:0.25', estimator: 'adf', target: 3 };
    const { gradient, stdError, p } = await model.pGradient(point(3), options);
    expect(gradient).toHaveLength(256);
    expect(stdError).toBeUndefined();
    const length = Math.hypot(...gradient);
    expect(length).toBeGreaterThan(0);
    const moved = async (by: number) => {
      const x = point(3).map((value, e) => value + (by * gradient[e]!) / length);
      const [row] = await model.estimate(x, { noise: 'gaussian:0.25', estimators: 'adf', target: 3 });
      return row!.p!;
    };
    expect(p[0]).toBeCloseTo(await moved(0), 5);
    expect(((await moved(0.01)) - (await moved(-0.01))) / 0.02 / length).toBeCloseTo(1, 1);
    const warnings: string[] = [];
    await model.pGradient(point(3), { noise: 'uniform:0.25', onWarning: (text) => warnings.push(text) });
    expect(warnings).toEqual(['uniform noise approximated as Gaussian (central limit theorem)']);
    const sampled = await model.pGradient(point(3), { noise: 'gaussian:0.25', estimator: 'mc:200' });
    expect(sampled.stdError).toHaveLength(256);
    const refused = await errorOf(model.pGradient(point(3), { noise: 'gaussian:0.25', estimator: 'probit:24' }));
    expect(refused.code).toBe('usage');
    expect(refused.message).toContain('has no gradient of p');
  });

  it('sweeps over noise scales', async () => {
    const sigmas = [0.05, 0.1, 0.2, 0.4];
    const curve = await model.sweep(point(0), { sigmas, estimator: 'mc:400' });
    for (const [i, sigma] of sigmas.entries()) {
      const [row] = await model.estimate(point(0), { noise: `gaussian:${sigma}`, estimators: 'mc:400' });
      expect(curve.p[i]).toBe(row!.p);
    }
    expect(curve.stdError).toHaveLength(4);
    const smooth = await model.sweep(point(0), { sigmas, estimator: 'probit:40', smooth: true });
    expect(smooth.note[0]).toContain('smoothed over 4 scales');
  });

  it('slices', async () => {
    const slice = await model.slice(point(0), null, null, { resolution: 15, reach: 4 });
    expect(slice.predicted).toHaveLength(225);
    const [row] = await model.estimate(point(0), { noise: 'gaussian:0.1', estimators: 'softmax' });
    expect(slice.predicted[7 * 15 + 7]).toBe(row!.predicted);
    expect(slice.margin[7 * 15 + 7]).toBeGreaterThan(0);
    expect(new Set(slice.predicted).size).toBeGreaterThan(1);
    const u = new Float32Array(256),
      v = new Float32Array(256);
    u[3] = 2;
    v[4] = 5;
    const given = await model.slice(point(0), u, v, { resolution: 2 });
    expect(given.u[3]).toBe(1);
    expect(given.v[4]).toBe(1);
  });

  it('computes multivariate normal probabilities', async () => {
    const half = await probust.mvn([0, 0], [1, 0.5, 0.5, 1]);
    expect(half.p).toBeCloseTo(0.25 + Math.asin(0.5) / (2 * Math.PI), 10);
    expect((await probust.mvn([0, Infinity], { U: [1, 0, 0, 1] })).p).toBeCloseTo(0.5, 12);
    expect((await probust.mvn([], [])).p).toBe(1);
    expect((await probust.mvn([0, 0], [1, 2, 2, 1])).p).toBeNull();
  });

  it.each<[string, string, (m: Model) => Promise<unknown>]>([
    ['a wrong length', 'usage', (m) => m.estimate(point(0).slice(1), { noise: 'gaussian:0.1' })],
    ['no points', 'usage', (m) => m.logits([])],
    ['something that is not an array', 'usage', (m) => m.logits('pixels')],
    ['NaN in x', 'usage', (m) => m.estimate(point(0).fill(NaN, 7, 8), { noise: 'gaussian:0.1' })],
    ['infinity in x', 'usage', (m) => m.logits(point(0).fill(Infinity, 7, 8))],
    ['an unknown estimator', 'usage', (m) => m.estimate(point(0), { noise: 'gaussian:0.1', estimators: 'magic' })],
    ['an unknown noise', 'usage', (m) => m.estimate(point(0), { noise: 'pink:0.1' })],
    ['a scale of zero', 'usage', (m) => m.estimate(point(0), { noise: 'gaussian:0' })],
    ['a noise that names an unknown array', 'usage', (m) => m.estimate(point(0), { noise: 'gaussian:cov=none' })],
    ['no noise', 'usage', (m) => m.estimate(point(0), {} as { noise: string })],
    ['a class that does not exist', 'usage', (m) => m.estimate(point(0), { noise: 'gaussian:0.1', target: [10] })],
    ['too few targets', 'usage', (m) => m.estimate(point(0, 2), { noise: 'gaussian:0.1', target: [1] })],
    ['a fractional seed', 'usage', (m) => m.estimate(point(0), { noise: 'gaussian:0.1', seed: 0.5 })],
    ['a negative seed', 'usage', (m) => m.estimate(point(0), { noise: 'gaussian:0.1', seed: -1 })],
    ['two points instead of one', 'usage', (m) => m.sweep(point(0, 2), { sigmas: [0.1] })],
    ['a negative scale in a sweep', 'usage', (m) => m.sweep(point(0), { sigmas: [0.1, -1] })],
    ['parallel directions', 'usage', (m) => m.slice(point(0), point(1), point(1))],
    ['too fine a slice', 'resources', (m) => m.slice(point(0), null, null, { resolution: 5000 })],
  ])('rejects %s, and keeps working', (_what, code, call) => expectRefusal(ProbustError, model, code, call));

  it('rejects bytes that are not a model, and keeps working', async () => {
    const bytes = readFileSync(digits);
    const code = async (promise: Promise<unknown>) => (await errorOf(promise)).code;
    expect(await code(probust.loadModel(bytes.subarray(0, 1000)))).toBe('unreadable');
    expect(await code(probust.loadModel(new Uint8Array(0)))).toBe('unreadable');
    expect(await code(probust.loadModel(new Uint8Array(5000).fill(7)))).toBe('unreadable');
    expect(await code(probust.loadModel('/no/such/file.onnx'))).toBe('unreadable');
    expect(await code(probust.loadModel(new Response('', { status: 404 })))).toBe('unreadable');
    expect(await code(probust.loadModel(42 as never))).toBe('usage');
    expect(await code(probust.loadModel(bytes, { shape: [1, 28, 28] }))).toBe('unreadable');
    expect(await code(probust.loadModel(bytes, { mean: [1, 2, 3] }))).toBe('usage');
    expect(await code(probust.loadModel(bytes, { layout: 'abc' as never }))).toBe('usage');
    expect(await code(probust.loadModel(bytes, { memory: 1000 }))).toBe('resources');
    expect((await model.logits(point(0))).length).toBe(10);
  });

  it('names the unsupported operator and its node', async () => {
    // Replaces the first operator's name with an unknown one of the same length.
    const bytes = new Uint8Array(readFileSync(digits));
    const name = model.info.operators[0]!.opType;
    const at = Buffer.from(bytes).lastIndexOf(name);
    bytes.set(new TextEncoder().encode('Q'.repeat(name.length)), at);
    const error = await errorOf(probust.loadModel(bytes));
    expect(error).toMatchObject({ code: 'unsupported', op: 'Q'.repeat(name.length) });
    expect(error.node).toBeTruthy();
    expect(error.hint).toBeTruthy();
  });

  it('reports progress up to the planned passes', async () => {
    const seen: number[] = [];
    let planned = 0;
    await model.estimate(point(0, 4), {
      noise: 'gaussian:0.1',
      estimators: 'mc:20000',
      onProgress: (progress) => {
        seen.push(progress.passes);
        planned = progress.planned;
      },
    });
    expect(seen.length).toBeGreaterThan(2);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(seen.at(-1)).toBe(80004);
    expect(planned).toBe(80004);
  });

  it.each(['mc:10000000', 'mmse:200000', 'regression:100000'])(
    'stops on an abort soon, within one point by %s, and works on',
    async (estimators) => {
      const controller = new AbortController();
      const begun = performance.now();
      setTimeout(() => controller.abort(), 100);
      const call = model.estimate(point(0, 8), { noise: 'gaussian:0.1', estimators, signal: controller.signal });
      expect((await errorOf(call)).code).toBe('aborted');
      expect(performance.now() - begun).toBeLessThan(2000);
      const before = await errorOf(model.logits(point(0), { signal: AbortSignal.abort() }));
      expect(before.code).toBe('aborted');
      expect((await model.logits(point(0))).length).toBe(10);
    },
  );

  it('leaves the thread free while it works', async () => {
    let turns = 0;
    const ticking = setInterval(() => ++turns, 1);
    await model.estimate(point(0, 4), { noise: 'gaussian:0.1', estimators: ['mc:20000', 'subset:2000'] });
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(3);
  });

  it('rejects calls on disposed models', async () => {
    const other = await probust.loadModel(digits);
    other.dispose();
    other.dispose();
    expect((await errorOf(other.logits(point(0)))).code).toBe('disposed');
    expect((await errorOf(other.estimate(point(0), { noise: 'gaussian:0.1' }))).code).toBe('disposed');
    expect((await model.logits(point(0))).length).toBe(10);
  });

  it('ends all calls when it is disposed', async () => {
    const own = await createProbust(options);
    const short = await own.loadModel(digits);
    const call = short.estimate(point(0), { noise: 'gaussian:0.1', estimators: 'mc:10000000' });
    own[Symbol.dispose ?? Symbol.for('Symbol.dispose')]();
    expect((await errorOf(call)).code).toBe('disposed');
    expect((await errorOf(short.logits(point(0)))).code).toBe('disposed');
  });
});

it('gives the same results with any number of workers', async () => {
  const options = { noise: ['gaussian:0.1', 'uniform:0.3'], estimators: ['mc:200', 'taylor', 'probit:20:pooled'], seed: 9 };
  const answers = [];
  for (const threads of [undefined, 1, 3]) {
    const probust = await createProbust(threads ? { threads } : {});
    const model = await probust.loadModel(digits);
    answers.push(await model.estimate(point(0, 20), options));
    probust.dispose();
  }
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[2]).toEqual(answers[0]);
});

it('runs with the module inside the script', async () => {
  const expected = await (
    await (await createProbust()).loadModel(digits)
  ).estimate(point(0), { noise: 'gaussian:0.2', estimators: ['mc:500', 'taylor'] });
  const compat = await (await load('compat.mjs')).createProbust();
  const rows = await (
    await compat.loadModel(digits)
  ).estimate(point(0), { noise: 'gaussian:0.2', estimators: ['mc:500', 'taylor'] });
  expect(rows).toEqual(expected);
});

it('reports why it cannot start', async () => {
  expect((await errorOf(createProbust({ wasmUrl: '/no/such.wasm' }))).code).toBe('environment');
  expect((await errorOf(createProbust({ threads: 0 }))).code).toBe('usage');
  expect((await errorOf(createProbust({ worker: true, workerUrl: 'file:///no/such.mjs' }))).code).toBe('environment');
});
