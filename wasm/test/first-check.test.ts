// SPDX-License-Identifier: MIT
// The check before an estimate, as on the command line, in C and in Python.
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { EstimateOptions, Model, Probust, Row } from '../../build/wasm/npm/types/index.js';
import { digits, errorOf, load, point } from './support.js';

const { createProbust } = await load();
const count = 40;
const asked: EstimateOptions = { noise: 'gaussian:0.1', estimators: 'mc:50', seed: 3 };

describe.each([
  ['in this thread', {}],
  ['in two workers', { threads: 2 }],
])('%s', (_, created) => {
  let probust: Probust;
  let model: Model;
  let x: Float32Array;
  let right: number[];
  beforeAll(async () => {
    probust = await createProbust(created);
    model = await probust.loadModel(digits);
    x = Float32Array.from(point(0, count));
    right = (await model.estimate(x, { ...asked, check: false })).map(({ predicted }) => predicted);
  });
  afterAll(() => probust.dispose());
  afterEach(() => vi.restoreAllMocks());

  /** The rows of an estimate, and its warnings. */
  async function estimate(points: Float32Array, more: Partial<EstimateOptions> = {}): Promise<[Row[], string[]]> {
    const warnings: string[] = [];
    const rows = await model.estimate(points, { ...asked, ...more, onWarning: (warning) => warnings.push(warning) });
    return [rows, warnings];
  }

  it('reports nothing for matching data, and changes nothing', async () => {
    const [rows, warnings] = await estimate(x, { labels: right });
    expect(warnings).toEqual([]);
    expect(rows).toEqual(await model.estimate(x, { ...asked, labels: right, check: false }));
  });

  it('gives the warning of check, and a note in every row', async () => {
    const off = right.map((label) => (label + 9) % 10);
    const [rows, warnings] = await estimate(x, { labels: off });
    const { findings, options } = await model.check(x, { labels: off, sigma: 0.1 });
    expect(warnings).toEqual(findings.flatMap(({ severity, text }) => (severity === 'warning' ? [text] : [])));
    expect(warnings.join()).toMatch(/labels/);
    expect(rows.every(({ note }) => note?.includes('may be wrong: see the warning'))).toBe(true);
    expect(options).toBeDefined();
    expect(await probust.check(model, x, { labels: off, sigma: 0.1 })).toEqual(await model.check(x, { labels: off, sigma: 0.1 }));
    const plain = await model.estimate(x, { ...asked, labels: off, check: false });
    expect(rows.map((row, i) => ({ ...row, note: plain[i]!.note }))).toEqual(plain);
  });

  it('names the option that fixes the problem', async () => {
    const bytes = x.map((value) => Math.round(255 * value));
    const [rows, warnings] = await estimate(bytes, { labels: right });
    expect(warnings.join()).toMatch(/give std 255|give scale/);
    expect(rows[0]!.note).toMatch(/see the warning: give /);
  });

  it('warns on the console by default', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const off = right.map((label) => (label + 9) % 10);
    const [, warnings] = await estimate(x, { labels: off });
    expect(warn).not.toHaveBeenCalled();
    await model.estimate(x, { ...asked, labels: off });
    expect(warn.mock.calls).toEqual(warnings.map((warning) => [`probust: ${warning}`]));
    warn.mockClear();
    await model.estimate(x, { ...asked, labels: off, check: false });
    expect(warn).not.toHaveBeenCalled();
  });

  it('warns if many points without labels get the same class', async () => {
    const same = (points: number) => Float32Array.from({ length: 256 * points }, (_, i) => x[i % 256]! + 1e-3 * Math.sin(i));
    const [rows, warnings] = await estimate(same(20));
    expect(warnings.join()).toMatch(/all 20 points/);
    expect(rows.every(({ note }) => note !== null)).toBe(true);
    expect(await estimate(same(19))).toEqual([expect.anything(), []]);
    expect((await estimate(same(20), { labels: Array<number>(20).fill(right[0]!) }))[1].join()).not.toMatch(/all 20 points get/);
  });

  it('estimates the given points, even if the caller changes them afterwards', async () => {
    const own = Float32Array.from(x);
    const labels = [...right];
    const waiting = estimate(own, { labels });
    own.fill(0);
    labels.fill(0);
    expect((await waiting)[0]).toEqual((await estimate(x, { labels: right }))[0]);
  });

  it('counts only the passes of the estimate, and ends when it is aborted', async () => {
    const seen: number[] = [];
    await estimate(x, { labels: right, onProgress: ({ passes }) => seen.push(passes) });
    const without: number[] = [];
    await estimate(x, { labels: right, check: false, onProgress: ({ passes }) => without.push(passes) });
    expect(seen.at(-1)).toBe(without.at(-1));
    const error = await errorOf(model.estimate(x, { ...asked, labels: right, signal: AbortSignal.abort() }));
    expect(error.code).toBe('aborted');
  });

  it('rejects wrong options', async () => {
    const refusals: [Partial<EstimateOptions>, RegExp][] = [
      [{ check: 'no' as never }, /^check is neither true nor false/],
      [{ onWarning: 3 as never }, /^onWarning is not a function/],
      [{ labels: [1, 2] }, /^labels must have one label per point, not 2 labels for 40 points/],
      [{ labels: right.map(() => 10) }, /^labels/],
    ];
    for (const [more, line] of refusals) {
      const error = await errorOf(model.estimate(x, { ...asked, ...more }));
      expect([error.code, error.message]).toEqual(['usage', expect.stringMatching(line)]);
    }
  });
});
