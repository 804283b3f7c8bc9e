// SPDX-License-Identifier: MIT
// The caller's own noise: functions of x and z, and ONNX models of x and z. Both must produce the same results as the built-in
// perturbation that they reimplement, wherever the library runs.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EstimateOptions, Model, Probust, Row } from '../../build/wasm/npm/types/index.js';
import { brighter } from './models.js';
import { digits, errorOf, everywhere, expectRefusal, load, point, staged } from './support.js';

type FunctionEntry = typeof import('../../build/wasm/npm/types/function.js');
declare const importByNode: <T>(url: string) => Promise<T>; // load.mjs defines it

const { createProbust, ProbustError } = await load();
const { modelFromFunction, perturbation } = await importByNode<FunctionEntry>(pathToFileURL(join(staged, 'function.mjs')).href);

const clipped = (value: number): number => Math.min(1, Math.max(0, value));
/** brightness:0.1, clipped as the digits are. */
const bright = perturbation((x, z) => x.map((value) => clipped(value + 0.1 * z[0]!)), 1, 'bright');
const wrong = (value: unknown): never => value as never;

/** Expects the same p in both lists of rows, except for samples that rounding errors move across a boundary. */
function expectSame(rows: readonly Row[], expected: readonly Row[]): void {
  expect(rows).toHaveLength(expected.length);
  rows.forEach((row, i) => {
    expect(Math.abs(row.p! - expected[i]!.p!), `${row.noise} at ${row.index}`).toBeLessThan(2e-3);
    expect(row.forwards).toBe(expected[i]!.forwards);
  });
  expect(expected.some(({ p }) => p! < 0.99)).toBe(true);
}

describe.each(everywhere)('%s', (_, created) => {
  let probust: Probust;
  let model: Model;
  beforeAll(async () => {
    probust = await createProbust(created);
    model = await probust.loadModel(digits);
  });
  afterAll(() => probust.dispose());

  it('a function gives the same as the perturbation that it writes out', async () => {
    const asked = { estimators: ['mc:1000', 'quadrature:64'], seed: 5, index: 2 };
    const rows = await model.estimate(point(0, 12), { ...asked, noise: bright });
    expectSame(rows, await model.estimate(point(0, 12), { ...asked, noise: 'brightness:0.1' }));
    expect(new Set(rows.map(({ noise }) => noise))).toEqual(new Set(['transform:bright:1|clip:0,1']));
    expect(await model.estimate(point(0, 12), { ...asked, noise: bright })).toEqual(rows);
    expect(await model.estimate(point(0, 12), { ...asked, noise: bright, seed: 6 })).not.toEqual(rows);
  });

  it('functions, promises and texts can be given together', async () => {
    const later = perturbation(async (x) => Promise.resolve(Array.from(x)), 2, 'nothing');
    const passes: number[] = [];
    const rows = await model.estimate(point(0, 24), {
      ...{ noise: [later, 'gaussian:0.3', bright], estimators: 'mc:100', labels: Array(24).fill(1) },
      onProgress: (progress) => passes.push(progress.passes),
      onWarning: () => undefined,
    });
    expect(rows).toHaveLength(72);
    rows.forEach((row, i) => i % 3 === 0 && expect([row.noise, row.p]).toEqual(['transform:nothing:1|clip:0,1', 1]));
    const alone = await model.estimate(point(0, 24), { noise: 'gaussian:0.3', estimators: 'mc:100', check: false });
    expect(rows.filter((_row, i) => i % 3 === 1).map(({ p }) => p)).toEqual(alone.map(({ p }) => p));
    expect(passes.at(-1)).toBeGreaterThan(0);
  });

  it('other calls accept functions, too', async () => {
    const given = { clip: [0, 1] as [number, number], seed: 3 };
    const cloud = await model.cloud(point(0), { ...given, noise: bright, count: 300 });
    const expected = await model.cloud(point(0), { ...given, noise: 'brightness:0.1', count: 300 });
    cloud.x.forEach((value, i) => expect(value).toBeCloseTo(expected.x[i]!, 5));
    const sweep = { ...given, sigmas: [1, 3], estimator: 'mc:400' };
    const curve = await model.sweep(point(6), { ...sweep, noise: bright });
    const family = await model.sweep(point(6), { ...sweep, noise: 'brightness:0.1', sigmas: [0.1, 0.3] });
    curve.p.forEach((p, i) => expect(Math.abs(p - family.p[i]!)).toBeLessThan(5e-3));
    expect((await errorOf(model.linearize(point(0), bright))).code).toBe('unsupported');
  });

  it('a model of x and z gives the same as the perturbation that it writes out', async () => {
    const asked: Omit<EstimateOptions, 'noise'> = {
      ...{ estimators: ['mc:1000', 'quadrature:64', 'surrogate:30', 'mc:100:sobol', 'taylor'], seed: 5 },
      transforms: { 'brighter.onnx': brighter(), even: brighter('uniform(-0.3,0.3)') },
    };
    const rows = await model.estimate(point(0, 12), { ...asked, noise: ['transform:brighter.onnx:0.1', 'transform:even'] });
    expectSame(rows, await model.estimate(point(0, 12), { ...asked, noise: ['brightness:0.1', 'brightness:uniform(-0.3,0.3)'] }));
  });

  it("the error of a function is the cause of the call's", async () => {
    const own = new Error('no light');
    for (const failing of [
      () => {
        throw own;
      },
      () => Promise.reject(own),
    ]) {
      const error = await errorOf(
        model.estimate(point(0, 3), { noise: perturbation(failing, 1, 'failing'), estimators: 'mc:50' }),
      );
      expect(error).toBeInstanceOf(ProbustError);
      expect([error.code, error.cause]).toEqual(['callback', own]);
      expect(error.message).toMatch(/^noise 'failing' failed \(Error: no light\)/);
    }
    expect((await model.estimate(point(0), { noise: 'gaussian:0.1', estimators: 'mc:10' }))[0]!.p).toBe(1);
  });

  it('stops a function', async () => {
    const controller = new AbortController();
    const endless = perturbation(() => (controller.abort(), new Promise<number[]>(() => undefined)), 1, 'endless');
    const call = model.estimate(point(0), { noise: endless, estimators: 'mc:50', signal: controller.signal });
    expect((await errorOf(call)).code).toBe('aborted');
  });

  it.each<[string, () => EstimateOptions, RegExp]>([
    ['a function alone', () => ({ noise: wrong((x: Float32Array) => x) }), /number of normals is unknown; give perturbation/],
    [
      'two functions with one name',
      () => ({ noise: [bright, { ...bright, latents: 2 }] }),
      /two functions with the name 'bright'/,
    ],
    ['too few numbers', () => ({ noise: perturbation(() => [1], 1, 'short') }), /^noise 'short' returned 1 numbers/],
    ['no numbers', () => ({ noise: perturbation(() => wrong(undefined), 1) }), /did not return an array/],
    ['a model that is missing', () => ({ noise: 'transform:none.onnx' }), /^transforms has no 'none.onnx'/],
    ['a model that is damaged', () => ({ noise: 'transform:a', transforms: { a: new Uint8Array(9) } }), /^a /],
    ['a distribution', () => ({ noise: 'transform:a', transforms: { a: brighter('beta(1,2)') } }), /^a has 'beta\(1,2\)' in its/],
    ['texts as bytes', () => ({ noise: 'transform:a', transforms: { a: wrong('brighter.onnx') } }), /^transforms has no 'a'/],
  ])('refuses %s', async (_what, options, line) => {
    const call = () => model.estimate(point(0), { estimators: 'mc:50', ...options() });
    expect((await errorOf(call())).message).toMatch(line);
    await expectRefusal(ProbustError, model, 'usage', call);
  });
});

it('works for classifiers that are functions', async () => {
  const probust = await createProbust();
  const own = await modelFromFunction(probust, {
    ...{ classes: 2, shape: [3] },
    classify: (x, { count }) => Array.from({ length: count }, (_row, i) => [x[3 * i]! + x[3 * i + 1]!, 2 * x[3 * i + 2]!]),
  });
  const asked = { estimators: 'mc:2000', seed: 1 };
  const rows = await own.estimate([1, 2, 2, 1, 1, 0.9], {
    ...asked,
    noise: perturbation((x, z) => [x[0]! + z[0]!, x[1]!, x[2]!], 1),
  });
  const [first, second] = await own.estimate([1, 2, 2, 1, 1, 0.9], { ...asked, noise: 'gaussian:1@0' });
  expect(Math.abs(rows[0]!.p! - first!.p!)).toBeLessThan(0.05);
  expect(Math.abs(rows[1]!.p! - second!.p!)).toBeLessThan(0.05);
  expect(rows[0]!.noise).toMatch(/^transform:/);
  probust.dispose();
});

it.each<[string, unknown[], RegExp]>([
  ['no function', [3, 1], /cannot be called; give a function of x and z/],
  ['no normals', [(x: unknown) => x, 0], /^latents is 0; give a whole number/],
  ['half a normal', [(x: unknown) => x, 0.5], /^latents is 0.5/],
  ['a name with a colon', [(x: unknown) => x, 1, 'a:b'], /^name is 'a:b'; give a name without : \+ and @/],
  ['an empty name', [(x: unknown) => x, 1, ''], /^name is ''/],
])('perturbation refuses %s', (_what, words, line) => {
  expect(() => perturbation(...(words as [never, never]))).toThrow(line);
});
