// SPDX-License-Identifier: MIT
// Classifiers that are JavaScript functions produce the same numbers as probust's engine and the command line. Also tests their
// errors.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FunctionClassifier } from '../../build/wasm/npm/types/function.js';
import type { EstimateOptions, Model, Probust, Row } from '../../build/wasm/npm/types/index.js';
import { classifier, weights } from '../split/onnx.js';
import { digits, errorOf, everywhere, load, native, point, root, staged } from './support.js';

type FunctionEntry = typeof import('../../build/wasm/npm/types/function.js');
declare const importByNode: <T>(url: string) => Promise<T>; // load.mjs defines it

const { createProbust, ProbustError } = await load();
const { modelFromFunction } = await importByNode<FunctionEntry>(pathToFileURL(join(staged, 'function.mjs')).href);

/** y = W' tanh(x) as an ONNX model (`small`) and as a function (`scoreRows`). */
const small = classifier([
  { op: 'Tanh', inputs: ['x'], output: 'z' },
  { op: 'MatMul', inputs: ['z', 'W'], output: 'y' },
]);
const scoreRows = (x: Float32Array): number[][] =>
  Array.from({ length: x.length / 4 }, (_, i) =>
    [0, 1, 2].map((c) => [0, 1, 2, 3].reduce((sum, e) => sum + Math.tanh(x[4 * i + e]!) * weights[3 * e + c]!, 0)),
  );
const gradient = (x: Float32Array, cotangents: Float32Array): Float32Array =>
  x.map((value, k) => {
    const along = [0, 1, 2].reduce((sum, c) => sum + weights[3 * (k % 4) + c]! * cotangents[3 * Math.floor(k / 4) + c]!, 0);
    return along * (1 - Math.tanh(value) ** 2);
  });
const x = [0.5, -0.2, 0.8, 0.1, -1, 0.4, 0.3, 0.9];
const base: FunctionClassifier = { classes: 3, shape: [4], classify: scoreRows };

/** The largest difference of p. Everything else must be identical. */
function apart(rows: readonly Row[], expected: readonly Row[]): number {
  expect(rows).toHaveLength(expected.length);
  return Math.max(
    ...rows.map((row, i) => {
      const other = expected[i]!;
      for (const key of ['index', 'predicted', 'target', 'noise', 'estimator', 'forwards', 'backwards', 'status'] as const)
        expect(row[key], `${key} of ${other.estimator} at ${other.noise}`).toBe(other[key]);
      return Math.abs((row.p ?? -1) - (other.p ?? -1));
    }),
  );
}

describe.each(everywhere)('%s', (_, created) => {
  let probust: Probust;
  let own: Model;
  /** The demo's model as an asynchronous function. */
  let model: Model;
  let most = 0;
  beforeAll(async () => {
    const other = await (await createProbust()).loadModel(digits);
    probust = await createProbust(created);
    own = await probust.loadModel(digits);
    model = await modelFromFunction(probust, {
      classes: 10,
      shape: [1, 16, 16],
      classify: async (batch, { count, shape, signal }) => {
        expect([batch.length, ...shape]).toEqual([256 * count, count, 1, 16, 16]);
        expect(signal.aborted).toBe(false);
        most = Math.max(most, count);
        return other.logits(batch);
      },
    });
  });
  afterAll(() => probust.dispose());

  it('gives the same numbers as the model itself', async () => {
    const options: EstimateOptions = {
      noise: ['gaussian:0.1', 'gaussian:0.3', 'uniform:0.2'],
      estimators: ['mc:1000', 'probit:40', 'probit:40:pooled', 'mc:±0.05', 'softmax'],
      seed: 11,
      index: 4,
      clip: [0, 1],
    };
    expect(apart(await model.estimate(point(0, 11), options), await own.estimate(point(0, 11), options))).toBe(0);
    expect(most).toBe(64);
  });

  it.skipIf(!existsSync(native))('counts the copies that the command line counts', async () => {
    const line = [digits, join(root, 'demos/digits/points.npz'), '--limit', '5', '--noise', 'gaussian:0.3'];
    const options = ['--estimator', 'mc:2000', '--seed', '7', '--device', 'eigen', '--format', 'jsonl', '--quiet'];
    const out = execFileSync(native, ['estimate', ...line, ...options], { encoding: 'utf8' });
    const expected = out
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text) as { p: number; p_fail: number });
    const rows = await model.estimate(point(0, 5), { noise: 'gaussian:0.3', estimators: 'mc:2000', seed: 7 });
    expect(rows.map(({ p, pFail }) => [p, pFail])).toEqual(expected.map((row) => [row.p, row.p_fail]));
    expect(expected.some(({ p }) => p < 1)).toBe(true);
  });

  it('supports the other calls, too', async () => {
    const cloud = { noise: 'gaussian:0.3', count: 70, seed: 3 };
    expect(await model.cloud(point(0), cloud)).toEqual(await own.cloud(point(0), cloud));
    const [u, v] = [point(1), point(2)];
    expect(await model.slice(point(0), u, v, { resolution: 9 })).toEqual(await own.slice(point(0), u, v, { resolution: 9 }));
    const sweep = { sigmas: [0.1, 0.3], estimator: 'mc:100' };
    expect(await model.sweep(point(0), sweep)).toEqual(await own.sweep(point(0), sweep));
    expect((await model.nearestBoundary(point(0))).distance).toBeGreaterThan(0);
    expect((await own.verify(model)).largest).toBe(0);
  });

  it.each<[string, Partial<EstimateOptions>]>([
    ['targets by label', { target: 'label' }],
    ['groups and classes', { groups: '0,1,2/3,4', perClass: true, estimators: 'mc:150' }],
    ['the two largest', { top: 2, estimators: 'mc:150' }],
    ['a smooth curve', { smooth: true, noise: ['gaussian:0.1', 'gaussian:0.2', 'gaussian:0.3'] }],
    ['calibration', { calibrate: true, estimators: ['probit:24', 'mc:50'] }],
    ['learned covariances', { estimators: 'probit:24:learned' }],
  ])('answers %s', async (_what, options) => {
    const labels = Array.from({ length: 31 }, (_, i) => i % 10);
    const asked = { noise: 'gaussian:0.3', estimators: ['mc:150', 'probit:24'], labels, seed: 2, index: 1, ...options };
    expect(await model.estimate(point(0, 31), asked)).toEqual(await own.estimate(point(0, 31), asked));
  });

  // With 32 points or more, probust's engine propagates moments, which is impossible for a function.
  it('estimates learned covariances without propagated moments', async () => {
    const asked = { noise: 'gaussian:0.3', estimators: 'probit:24:learned', seed: 2 };
    const [rows, expected] = [await model.estimate(point(0, 35), asked), await own.estimate(point(0, 35), asked)];
    rows.forEach((row, i) => {
      const error = Math.hypot(row.stdError!, expected[i]!.stdError!);
      expect(Math.abs(row.p! - expected[i]!.p!)).toBeLessThan(2 * error);
    });
    expect(rows.map(({ p }) => p)).not.toEqual(expected.map(({ p }) => p));
    expect(rows[0]!.forwards).toBe(24);
  });

  // probust's engine applies its first layer to each draw only once for all points, which rounds differently.
  it('computes shared draws up to rounding', async () => {
    const asked = { noise: 'gaussian:0.3', estimators: 'probit:24:shared', seed: 2 };
    const [rows, expected] = [await model.estimate(point(0, 31), asked), await own.estimate(point(0, 31), asked)];
    rows.forEach((row, i) => expect(Math.abs(row.p! - expected[i]!.p!)).toBeLessThan(1e-5));
  });

  it('spends a total budget', async () => {
    const asked = { noise: ['gaussian:0.2', 'gaussian:0.4'], totalBudget: 400, seed: 2 };
    const rows = await model.estimate(point(0, 4), asked);
    expect(rows).toEqual(await model.estimate(point(0, 4), asked));
    expect(new Set(rows.map(({ estimator }) => estimator))).toEqual(new Set(['auto']));
    const spent = rows.reduce((sum, { forwards }) => sum + forwards, 0);
    expect(spent).toBeLessThanOrEqual(400);
    expect(spent).toBeGreaterThan(250);
  });

  it('uses gradients if they are available', async () => {
    const exact = await probust.loadModel(small);
    const options = {
      noise: ['gaussian:0.4', 'gaussian:0.9'],
      estimators: ['taylor', 'mmse:10', 'mmse:10:loo', 'regression:60', 'mc:200:stratified', 'subset:1000'],
      seed: 2,
    };
    const expected = await exact.estimate(x, options);
    for (const batch of [1, 3, 64]) {
      const given = await modelFromFunction(probust, { ...base, gradient, batch });
      expect(apart(await given.estimate(x, options), expected)).toBeLessThan(2e-6);
      const [mine, theirs] = [
        await given.linearize(x.slice(0, 4), 'gaussian:0.4'),
        await exact.linearize(x.slice(0, 4), 'gaussian:0.4'),
      ];
      mine.gradients.forEach((value, i) => expect(value).toBeCloseTo(theirs.gradients[i]!, 5));
      const nearest = await exact.nearestBoundary(x.slice(0, 4));
      expect((await given.nearestBoundary(x.slice(0, 4))).distance).toBeCloseTo(nearest.distance, 4);
      given.dispose();
    }
  });

  it('rejects gradient estimators without gradients, and always rejects moments', async () => {
    const plain = await modelFromFunction(probust, base);
    const options = { noise: 'gaussian:0.1', estimators: 'taylor' };
    expect(await errorOf(plain.estimate(x, options))).toMatchObject({ code: 'unsupported' });
    const given = await modelFromFunction(probust, { ...base, gradient });
    const rows = await given.estimate(x.slice(0, 4), { noise: 'gaussian:0.1', estimators: ['adf', 'taylor'] });
    expect(rows.map(({ status }) => status)).toEqual(['unsupported', 'ok']);
  });

  it('rejects bytes, which a function may expect unscaled', async () => {
    const error = await errorOf(model.estimate(new Uint8Array(256), { noise: 'gaussian:0.1', estimators: 'mc:100' }));
    expect([error.code, error.message]).toEqual(['usage', expect.stringMatching(/^x contains bytes, .*Float32Array.from/)]);
  });

  it('expects points before mean and std', async () => {
    const prepared = { mean: [0.1], std: [0.5] };
    const exact = await probust.loadModel(small, prepared);
    const given = await modelFromFunction(probust, { ...base, gradient, ...prepared });
    const options = { noise: 'gaussian:0.2', estimators: ['taylor', 'mc:500', 'mmse:5'] };
    expect(apart(await given.estimate(x, options), await exact.estimate(x, options))).toBeLessThan(2e-6);
  });

  it.each<[string, (batch: Float32Array) => unknown]>([
    ['a Float32Array', (batch) => Float32Array.from(scoreRows(batch).flat())],
    ['a Float64Array', (batch) => Float64Array.from(scoreRows(batch).flat())],
    ['numbers', (batch) => scoreRows(batch).flat()],
    ['rows', (batch) => scoreRows(batch)],
    ['typed rows', (batch) => scoreRows(batch).map((row) => Float32Array.from(row))],
    ['a promise of rows', (batch) => Promise.resolve(scoreRows(batch))],
  ])('accepts %s', async (_form, classify) => {
    const given = await modelFromFunction(probust, { ...base, classify: classify as FunctionClassifier['classify'] });
    expect(Array.from(await given.logits(x))).toEqual(Array.from(Float32Array.from(scoreRows(Float32Array.from(x)).flat())));
  });

  it.each<[string, () => unknown, RegExp]>([
    ['too few numbers', () => [1, 2], /^classify returned 2 numbers; return 3 numbers for each of the 2 points/],
    ['too few rows', () => [[1, 2, 3]], /returned 1 rows; return 3/],
    [
      'a short row',
      () => [
        [1, 2, 3],
        [1, 2],
      ],
      /returned 2 numbers in row 1; return 3/,
    ],
    ['texts', () => ['1', 2, 3, 4, 5, 6], /returned string at position 0; return 3/],
    [
      'a missing number',
      () => [
        [1, 2, 3],
        [1, undefined, 3],
      ],
      /returned undefined at position 4; return 3/,
    ],
    ['no array', () => ({ scores: [] }), /did not return an array; return 3/],
    ['nothing', () => undefined, /did not return an array/],
    ['bigints', () => new BigInt64Array(6), /returned bigint at position 0/],
  ])('refuses %s', async (_what, classify, line) => {
    const given = await modelFromFunction(probust, { ...base, classify: classify as FunctionClassifier['classify'] });
    const error = await errorOf(given.logits(x));
    expect(error).toBeInstanceOf(ProbustError);
    expect([error.code, error.message]).toEqual(['usage', expect.stringMatching(line)]);
    expect(error.message).toMatch(/^[^\n]+$/);
  });

  it('ends the call with the error of a function, and keeps working', async () => {
    const fault = new TypeError('the service is closed');
    let broken = true;
    const ways = [
      () => {
        throw fault;
      },
      () => Promise.reject(fault),
    ];
    for (const way of ways) {
      broken = true;
      const given = await modelFromFunction(probust, { ...base, classify: (batch) => (broken ? way() : scoreRows(batch)) });
      const error = await errorOf(given.estimate(x, { noise: 'gaussian:0.1', estimators: ['mc:10', 'mc:20'] }));
      expect(error).toBeInstanceOf(ProbustError);
      expect(error.code).toBe('callback');
      expect(error.message).toBe('classify failed (TypeError: the service is closed)');
      expect(error.cause).toBe(fault);
      broken = false;
      expect(await given.logits(x)).toHaveLength(6);
    }
    const given = await modelFromFunction(probust, { ...base, gradient: () => Promise.reject(fault) });
    const error = await errorOf(given.linearize(x.slice(0, 4), 'gaussian:0.1'));
    expect([error.message, error.cause]).toEqual(['gradient failed (TypeError: the service is closed)', fault]);
  });

  it('aborts a function that never returns', async () => {
    let seen: AbortSignal | undefined;
    const given = await modelFromFunction(probust, {
      ...base,
      classify: (_batch, { signal }) => {
        seen = signal;
        return new Promise(() => undefined);
      },
    });
    const signal = AbortSignal.timeout(100);
    expect((await errorOf(given.estimate(x, { noise: 'gaussian:0.1', signal }))).code).toBe('aborted');
    expect(seen!.aborted).toBe(true);
    const call = errorOf(given.logits(x));
    setTimeout(() => given.dispose(), 50);
    expect((await call).code).toBe('disposed');
    expect(seen!.aborted).toBe(true);
  });

  it('respects the batch size and reports progress', async () => {
    const counts = new Set<number>();
    const given = await modelFromFunction(probust, {
      ...base,
      batch: 5,
      classify: (batch, { count }) => {
        counts.add(count);
        return scoreRows(batch);
      },
    });
    const seen: number[] = [];
    const onProgress = ({ passes }: { passes: number }) => seen.push(passes);
    await given.estimate(x.slice(0, 4), { noise: 'gaussian:0.1', estimators: 'mc:22', onProgress });
    expect([...counts].sort()).toEqual([1, 2, 5]);
    expect(seen.at(-1)).toBe(23);
  });

  it('counts scores that are NaN for no class', async () => {
    const classify = (batch: Float32Array) => scoreRows(batch).map((row, i) => (batch[4 * i]! < -1.5 ? [NaN, NaN, NaN] : row));
    const given = await modelFromFunction(probust, { ...base, classify });
    const [row] = await given.estimate(x.slice(4), { noise: 'gaussian:1', estimators: 'mc:500' });
    const exact = await (await probust.loadModel(small)).estimate(x.slice(4), { noise: 'gaussian:1', estimators: 'mc:500' });
    expect(row!.p!).toBeLessThan(exact[0]!.p!);
    expect((await given.estimate([-2, 0, 0, 0], { noise: 'gaussian:1', estimators: 'mc:9' }))[0]!.status).toBe('nonfinite');
  });

  it('describes itself', async () => {
    const given = await modelFromFunction(probust, { ...base, classes: ['red', 'green', 'blue'], name: 'colours' });
    expect(given.info).toMatchObject({ engine: 'colours', classes: 3, pointShape: [4], classNames: ['red', 'green', 'blue'] });
    expect([given.info.flops, given.info.parameters]).toEqual([NaN, NaN]);
    expect((await probust.loadModel(small, { classNames: ['a', 'b', 'c'] })).info.classNames).toEqual(['a', 'b', 'c']);
    expect(own.info.classNames).toBeUndefined();
  });

  it('rejects invalid classifiers', async () => {
    const made = (given: object) => modelFromFunction(probust, { ...base, ...given } as FunctionClassifier);
    const cases: [() => Promise<unknown>, RegExp][] = [
      [() => made({ classify: undefined }), /^classify is not a function/],
      [() => made({ gradient: 5 }), /^gradient is not a function/],
      [() => made({ classes: 0 }), /^classes is 0/],
      [() => made({ classes: '3' }), /^classes is not a list/],
      [() => made({ classes: ['a', 'a'] }), /^classes has 'a' twice/],
      [() => made({ classes: ['a', 4] }), /^classes is not a string at position 1/],
      [() => made({ shape: [2, 0] }), /^shape is \[2, 0\]/],
      [() => made({ shape: [] }), /^shape is \[\]/],
      [() => made({ batch: 0 }), /^batch is 0/],
      [() => made({ classifier: 1 }), /no option 'classifier'/],
      [() => made({ mean: [1, 2, 3] }), /^mean/],
      [() => modelFromFunction({} as Probust, base), /not a result of createProbust/],
      [
        () => probust.loadModel(small, { classNames: ['a', 'b'] }),
        /^classNames has 2 names; give 3, one for each class of the model/,
      ],
    ];
    for (const [make, line] of cases) {
      const error = await errorOf(make());
      expect([error.code, error.message]).toEqual(['usage', expect.stringMatching(line)]);
    }
    expect((await errorOf(made({ signal: AbortSignal.abort() }))).code).toBe('aborted');
  });
});
