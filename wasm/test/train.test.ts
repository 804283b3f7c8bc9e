// SPDX-License-Identifier: MIT
// Generated data, training, clouds and boundaries in node, in this thread and in workers. Also runs trained models in ONNX
// Runtime.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Model, Probust } from '../../build/wasm/npm/types/index.js';
import type { OrtModule } from '../../build/wasm/npm/types/ort.js';
import { digits, errorOf, everywhere, load, point, root, staged } from './support.js';

type OrtEntry = typeof import('../../build/wasm/npm/types/ort.js');
declare const importByNode: <T>(url: string) => Promise<T>; // load.mjs defines it

const { createProbust, ProbustError } = await load();
const kinds = ['moons', 'blobs', 'spirals', 'xor', 'rings', 'digits'] as const;

describe.each(everywhere)('%s', (_, options) => {
  let probust: Probust;
  let model: Model;
  beforeAll(async () => {
    probust = await createProbust(options);
    model = await probust.loadModel(digits);
  });
  afterAll(() => probust.dispose());

  it('returns the noisy samples that mc counts', async () => {
    const noise = 'gaussian:0.4';
    const keys = { seed: 3, index: 7 };
    const [row] = await model.estimate(point(2), { noise, estimators: 'mc:700', ...keys });
    const cloud = await model.cloud(point(2), { noise, count: 700, ...keys });
    expect(cloud.x).toHaveLength(700 * 256);
    expect(cloud.predicted).toHaveLength(700);
    const kept = cloud.predicted.filter((label) => label === row!.target).length;
    expect(kept / 700).toBe(row!.p);
    expect(kept).toBeLessThan(700);
    const logits = await model.logits(cloud.x.slice(0, 256));
    expect(logits.indexOf(Math.max(...logits))).toBe(cloud.predicted[0]);
    const clipped = await model.cloud(point(2), { noise, count: 10, clip: [0, 1] });
    expect(Math.max(...clipped.x)).toBe(1);
  });

  it('finds the nearest boundary', async () => {
    const beyond: number[] = [];
    const nearest = await model.nearestBoundary(point(0), {
      onProgress: ({ passes, planned }) => beyond.push(passes - planned),
    });
    expect(Math.max(...beyond)).toBeLessThanOrEqual(0);
    expect(Math.hypot(...nearest.step)).toBeCloseTo(nearest.distance, 4);
    expect(nearest.backwards).toBeGreaterThan(0);
    // The point is a little beyond the boundary, because exactly on it, rounding errors would decide.
    const there = await model.logits(point(0).map((value, e) => value + 1.001 * nearest.step[e]!));
    expect(there.indexOf(Math.max(...there))).toBe(nearest.rival);
    const inside = await model.logits(point(0).map((value, e) => value + 0.99 * nearest.step[e]!));
    expect(inside.indexOf(Math.max(...inside))).not.toBe(nearest.rival);
  });

  it('generates data from a seed', async () => {
    for (const kind of kinds) {
      const data = await probust.data[kind]({ count: 60, seed: 5 });
      const elements = data.pointShape.reduce((product, extent) => product * extent, 1);
      expect(data.x).toBeInstanceOf(Float32Array);
      expect(data.x).toHaveLength(60 * elements);
      expect(data.labels).toBeInstanceOf(Int32Array);
      expect(new Set(data.labels).size).toBe(data.classes);
      expect(await probust.data[kind]({ count: 60, seed: 5 })).toEqual(data);
      expect((await probust.data[kind]({ count: 60, seed: 6 })).x).not.toEqual(data.x);
    }
    expect((await probust.data.rings({ classes: 5 })).classes).toBe(5);
    const [x, y] = (await probust.data.blobs({ count: 1, noise: 0 })).x;
    expect(Math.hypot(x!, y!)).toBeCloseTo(1, 6);
  });

  it('trains, and reports progress', async () => {
    const data = await probust.data.moons({ count: 400, seed: 1 });
    const training = await probust.train(data, { hidden: [16, 16], rate: 1e-2, seed: 2 });
    const before = await training.run(0);
    expect(before.epoch).toBe(0);
    const seen: number[] = [];
    const after = await training.run(40, { onProgress: ({ passes, planned }) => seen.push(passes / planned) });
    expect(after.epoch).toBe(40);
    expect(after.loss).toBeLessThan(0.3 * before.loss);
    expect(after.accuracy).toBeGreaterThan(0.95);
    expect(seen.at(-1)).toBe(1);
    const trained = await training.model();
    expect(trained.info).toMatchObject({ classes: 2, pointShape: [2], producer: 'probust' });
    const logits = await trained.logits(data.x);
    const right = data.labels.filter((label, i) => (logits[2 * i + 1]! > logits[2 * i]! ? 1 : 0) === label).length;
    expect(right / 400).toBe(after.accuracy);
    // Further training does not change the model.
    await training.run(5);
    expect(await trained.logits(data.x)).toEqual(logits);
    expect(await (await training.model()).logits(data.x)).not.toEqual(logits);
    training.dispose();
    const [row] = await trained.estimate(data.x.slice(0, 2), { noise: 'gaussian:0.2', estimators: 'quadrature' });
    const [counted] = await trained.estimate(data.x.slice(0, 2), { noise: 'gaussian:0.2', estimators: 'mc:20000' });
    expect(Math.abs(row!.p! - counted!.p!)).toBeLessThan(4.5 * counted!.stdError! + 1e-9);
  });

  it('does not depend on how training is divided into runs, with changing options', async () => {
    const data = await probust.data.rings({ count: 100 });
    const save = async (runs: number[]) => {
      const training = await probust.train(data, { hidden: [8], activation: 'gelu', sigma: 0.1, lambda: 0.01 });
      for (const epochs of runs) await training.run(epochs, { sigma: undefined });
      await training.run(2, { rate: 0.02, lambda: 0, sigma: 0 });
      return training.save();
    };
    const whole = await save([6]);
    expect(await save([1, 2, 3])).toEqual(whole);
    expect(await save([5])).not.toEqual(whole);
  });

  it('trains the convolutional network of the papers', async () => {
    const data = await probust.data.digits({ count: 600 });
    const training = await probust.train(data, { model: 'cnn', rate: 3e-3 });
    const { accuracy } = await training.run(8);
    expect(accuracy).toBeGreaterThan(0.95);
    await training.run(1, { lambda: 0.01 });
    const trained = await training.model();
    const [row] = await trained.estimate(data.x.slice(0, 784), { noise: 'gaussian:0.1', estimators: 'taylor' });
    expect(row!.predicted).toBe(data.labels[0]);
    training.dispose();
    expect((await errorOf(probust.train(await probust.data.moons(), { model: 'cnn' }))).code).toBe('usage');
  });

  it('stops soon on an abort, and can continue', async () => {
    const training = await probust.train(await probust.data.digits({ count: 300 }), { hidden: [32] });
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 60);
    expect((await errorOf(training.run(100000, { signal: controller.signal }))).code).toBe('aborted');
    const { epoch } = await training.run(0);
    expect(epoch).toBeGreaterThan(0);
    expect((await training.run(1)).epoch).toBeCloseTo(epoch + 1, 9);
    expect((await errorOf(training.run(1, { signal: AbortSignal.abort() }))).code).toBe('aborted');
    training.dispose();
  });

  it('allows one run at a time, and ends when it is disposed', async () => {
    const training = await probust.train(await probust.data.xor());
    const running = training.run(1000000);
    expect((await errorOf(training.run(1))).code).toBe('usage');
    training.dispose();
    training.dispose();
    expect((await errorOf(running)).code).toBe('disposed');
    for (const call of [training.run(1), training.save(), training.model()]) {
      expect((await errorOf(call)).code).toBe('disposed');
    }
  });

  it('does not block the thread while it trains', async () => {
    const data = await probust.data.digits({ count: 1000 });
    const training = await probust.train(data, { hidden: [64] });
    let turns = 0;
    const ticking = setInterval(() => ++turns, 1);
    await training.run(4);
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(3);
    training.dispose();
  });

  const few = { x: [0, 0, 1, 1], labels: [0, 1] };
  it.each<[string, string, (pr: Probust) => Promise<unknown>]>([
    ['no samples', 'usage', () => model.cloud(point(0), { noise: 'gaussian:0.1', count: 0 })],
    ['a cloud of two points', 'usage', () => model.cloud(point(0, 2), { noise: 'gaussian:0.1' })],
    ['a cloud without noise', 'usage', () => model.cloud(point(0), {} as { noise: string })],
    ['samples that do not fit into memory', 'resources', () => model.cloud(point(0), { noise: 'gaussian:0.1', count: 2 ** 40 })],
    ['a boundary of two points', 'usage', () => model.nearestBoundary(point(0, 2))],
    ['a boundary of another class', 'usage', () => model.nearestBoundary(point(0), { target: [3] } as object)],
    ['quadrature of an image', 'usage', () => model.estimate(point(0), { noise: 'gaussian:0.1', estimators: 'quadrature' })],
    ['three moons', 'usage', (pr) => pr.data.moons({ classes: 3 })],
    ['no points', 'usage', (pr) => pr.data.blobs({ count: 0 })],
    ['half a point', 'usage', (pr) => pr.data.blobs({ count: 0.5 })],
    ['negative noise', 'usage', (pr) => pr.data.xor({ noise: -1 })],
    ['noise that is NaN', 'usage', (pr) => pr.data.xor({ noise: NaN })],
    ['too many points', 'resources', (pr) => pr.data.digits({ count: 2 ** 40 })],
    ['too few labels', 'usage', (pr) => pr.train({ x: [0, 0, 1, 1, 2], labels: [0, 1] })],
    ['no labels', 'usage', (pr) => pr.train({ x: [0, 0], labels: [] })],
    ['one class', 'usage', (pr) => pr.train({ x: [0, 1], labels: [0, 0] })],
    ['a label beyond the classes', 'usage', (pr) => pr.train({ ...few, labels: [0, 5], classes: 2 })],
    ['a negative label', 'usage', (pr) => pr.train({ ...few, labels: [0, -1] })],
    ['NaN among the points', 'usage', (pr) => pr.train({ ...few, x: [0, 0, NaN, 1] })],
    ['points that are not an array', 'usage', (pr) => pr.train({ ...few, x: 'points' })],
    ['a shape that does not fit', 'usage', (pr) => pr.train({ ...few, pointShape: [3] })],
    ['a layer without width', 'usage', (pr) => pr.train(few, { hidden: [4, 0] })],
    ['an unknown activation', 'usage', (pr) => pr.train(few, { activation: 'sine' as 'relu' })],
    ['an unknown optimizer', 'usage', (pr) => pr.train(few, { optimizer: 'lbfgs' as 'sgd' })],
    ['a rate of zero', 'usage', (pr) => pr.train(few, { rate: 0 })],
    ['a negative lambda', 'usage', (pr) => pr.train(few, { lambda: -1 })],
    ['an empty batch', 'usage', (pr) => pr.train(few, { batch: 0 })],
    ['weights that do not fit into memory', 'resources', (pr) => pr.train(few, { hidden: [2 ** 14, 2 ** 14] })],
    ['a number of weights that overflows', 'resources', (pr) => pr.train(few, { hidden: [2 ** 50, 2 ** 50] })],
    ['a negative run', 'usage', async (pr) => (await pr.train(few)).run(-1)],
    ['a rate that changes to NaN', 'usage', async (pr) => (await pr.train(few)).run(1, { rate: NaN })],
    ['a rate that diverges', 'numerical', async (pr) => (await pr.train(few, { optimizer: 'sgd' })).run(99, { rate: 1e30 })],
  ])('rejects %s, and keeps working', async (_what, code, call) => {
    const error = await errorOf(call(probust));
    expect(error).toBeInstanceOf(ProbustError);
    expect(error.message).toMatch(/^[^\n]+$/);
    expect(error.code).toBe(code);
    expect((await model.logits(point(0))).length).toBe(10);
  });
});

it('generates the same data on every platform', async () => {
  const probust = await createProbust();
  let sum = 0;
  for (const kind of kinds) {
    const { x } = await probust.data[kind]({ count: 30, seed: 9 });
    for (const value of x) sum = (Math.imul(sum, 31) + Math.sign(value) * Math.round(Math.abs(value) * 2 ** 24)) >>> 0;
  }
  expect(sum).toBe(1489163827); // as in tests/data_test.cpp
});

/**
 * Compares calls that need no gradients: they must return the same noisy samples, and a boundary from random search that is
 * nearly as close.
 */
async function expectSameGeometry(own: Model, other: Model, x: Float32Array): Promise<void> {
  const options = { noise: 'gaussian:0.3', count: 300 };
  expect((await other.cloud(x, options)).x).toEqual((await own.cloud(x, options)).x);
  const [here, there] = [await own.nearestBoundary(x), await other.nearestBoundary(x)];
  expect(there.backwards).toBe(0);
  expect(there.distance).toBeLessThan(1.02 * here.distance);
  expect(Math.hypot(...there.step)).toBeCloseTo(there.distance, 4);
}

it('saves models that ONNX Runtime runs', async () => {
  const runtime = join(root, 'wasm/node_modules/onnxruntime-web/dist/ort.node.min.mjs');
  const ort = await importByNode<OrtModule & { env: { wasm: { numThreads: number } } }>(pathToFileURL(runtime).href);
  ort.env.wasm.numThreads = 1;
  const { createOrtModel } = await importByNode<OrtEntry>(pathToFileURL(join(staged, 'ort.mjs')).href);
  const probust = await createProbust();
  for (const activation of ['relu', 'tanh', 'gelu'] as const) {
    for (const data of [await probust.data.spirals({ count: 100, classes: 3 }), await probust.data.digits({ count: 50 })]) {
      const training = await probust.train(data, { hidden: [16, 8], activation });
      await training.run(data.pointShape.length === 1 ? 40 : 3);
      const own = await training.model();
      const other = await createOrtModel(probust, await training.save(), { ort });
      expect(other.info.pointShape).toEqual(data.pointShape);
      const report = await own.verify(other, { x: data.x });
      expect(report.points).toBe(data.labels.length);
      expect(report.relative).toBeLessThan(2e-6);
      expect(report.argmaxAgrees).toBe(true);
      if (data.pointShape.length === 1) await expectSameGeometry(own, other, data.x.slice(0, 2));
      other.dispose();
      training.dispose();
    }
  }
});
