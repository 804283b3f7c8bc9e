// SPDX-License-Identifier: MIT
// ONNX Runtime Web as a second engine: it computes the same numbers as probust's engine for models that both support, and also
// runs models that probust's engine does not support.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Model, ModelOptions, Probust, Row } from '../../build/wasm/npm/types/index.js';
import type { OrtModule, OrtOptions } from '../../build/wasm/npm/types/ort.js';
import { altered, classifier, floats, longs, onnx, port, weights } from '../split/onnx.js';
import { isolation, launch, resultOf, serve, webGpuFlags } from './server.js';
import { cases, readImages } from './shared.js';
import { digits, errorOf, expectRefusal, hasShared, load, point, root, shared, staged } from './support.js';

type OrtEntry = typeof import('../../build/wasm/npm/types/ort.js');
declare const importByNode: <T>(url: string) => Promise<T>; // load.mjs defines it

const runtime = join(root, 'wasm/node_modules/onnxruntime-web/dist');
const ort = await importByNode<OrtModule & { env: { wasm: { numThreads: number } } }>(
  pathToFileURL(join(runtime, 'ort.node.min.mjs')).href,
);
ort.env.wasm.numThreads = 1;
const { createProbust, ProbustError } = await load();
const { createOrtModel } = await importByNode<OrtEntry>(pathToFileURL(join(staged, 'ort.mjs')).href);

const gradientFree = ['mc:1000', 'probit:40', 'probit:40:pooled', 'mc:±0.05', 'softmax'];
const noises = ['gaussian:0.1', 'gaussian:0.3', 'uniform:0.2'];

/**
 * The number of noisy samples that two engines count differently, and the largest difference of p in the other rows. Everything
 * else must be equal.
 */
function apart(rows: readonly Row[], expected: readonly Row[]): { copies: number; p: number } {
  expect(rows).toHaveLength(expected.length);
  const result = { copies: 0, p: 0 };
  rows.forEach((row, i) => {
    const other = expected[i]!;
    for (const key of ['index', 'predicted', 'target', 'noise', 'estimator', 'forwards', 'backwards', 'status'] as const) {
      expect(row[key], `${key} of ${other.estimator} at ${other.noise}`).toBe(other[key]);
    }
    const difference = Math.abs(row.p! - other.p!);
    if (row.estimator.startsWith('mc')) result.copies += Math.round(difference * row.forwards);
    else result.p = Math.max(result.p, difference);
  });
  return result;
}

const table: string[] = [];
async function agree(probust: Probust, name: string, model: string, x: Float32Array, options: ModelOptions): Promise<void> {
  const own = await probust.loadModel(model, options);
  const other = await createOrtModel(probust, model, { ...options, ort });
  const asked = { noise: noises, estimators: ['mc:500', 'probit:40'], seed: 7, index: 3 };
  const { copies, p } = apart(await other.estimate(x, asked), await own.estimate(x, asked));
  const report = await own.verify(other, { x });
  own.dispose();
  other.dispose();
  table.push(
    `${name.padEnd(26)} ${String(copies).padStart(6)} ${p.toExponential(1).padStart(9)} ${report.largest.toExponential(1).padStart(17)}  ${other.info.notes.join('; ')}`,
  );
  expect(copies).toBeLessThanOrEqual(2);
  expect(p).toBeLessThan(2e-6);
  expect(report.argmaxAgrees).toBe(true);
  expect(report.relative).toBeLessThan(1e-5);
}

describe.each([
  ['in this thread', {}],
  ['with two workers', { threads: 2 }],
])('%s', (_, created) => {
  let probust: Probust;
  let own: Model;
  let model: Model;
  beforeAll(async () => {
    probust = await createProbust(created);
    own = await probust.loadModel(digits);
    model = await createOrtModel(probust, digits, { ort });
  });
  afterAll(() => probust.dispose());

  it('describes itself', () => {
    expect(model.info).toMatchObject({ engine: 'onnxruntime-web (wasm)', classes: 10, pointShape: [1, 16, 16] });
    expect(model.info.operators).toEqual(own.info.operators);
    expect(model.info.flops).toBeNaN();
    expect(own.info.engine).toBe('probust');
  });

  it('gives the same numbers as the own engine', async () => {
    const options = { noise: noises, estimators: gradientFree, seed: 11, index: 4, clip: [0, 1] as const };
    const x = point(0, 11);
    const { copies, p } = apart(await model.estimate(x, options), await own.estimate(x, options));
    expect(copies).toBeLessThanOrEqual(2);
    expect(p).toBeLessThan(2e-6);
    const target = [9, 8, 7];
    const asked = { noise: 'gaussian:0.3', estimators: 'mc:500', target };
    expect(apart(await model.estimate(point(0, 3), asked), await own.estimate(point(0, 3), asked)).copies).toBe(0);
  });

  it('runs estimators for which gradients are optional', async () => {
    const rows = await model.estimate(point(0, 2), {
      noise: 'gaussian:0.3',
      estimators: ['subset:1000', 'auto:60', 'mc:100:stratified'],
    });
    const counted = await model.estimate(point(0, 2), { noise: 'gaussian:0.3', estimators: 'mc:4000' });
    rows.forEach((row, i) => {
      expect(row.backwards).toBe(0);
      expect(Math.abs(row.p! - counted[Math.floor(i / 3)]!.p!)).toBeLessThan(0.15);
    });
  });

  it('sweeps, and slices along given directions', async () => {
    const options = { sigmas: [0.1, 0.2, 0.4], estimator: 'probit:40', seed: 2 };
    const [mine, theirs] = [await own.sweep(point(1), options), await model.sweep(point(1), options)];
    for (const [i, p] of mine.p.entries()) expect(theirs.p[i]).toBeCloseTo(p, 5);
    const smooth = await model.sweep(point(1), { ...options, smooth: true });
    expect(smooth.note[0]).toContain('smoothed over 3 scales');
    const u = point(2);
    const v = point(3);
    const slices = [await own.slice(point(0), u, v, { resolution: 9 }), await model.slice(point(0), u, v, { resolution: 9 })];
    expect([...slices[1]!.predicted]).toEqual([...slices[0]!.predicted]);
  });

  it.each<[string, string, (m: Model) => Promise<unknown>]>([
    [
      'an estimator that needs gradients',
      'unsupported',
      (m) => m.estimate(point(0), { noise: 'gaussian:0.1', estimators: ['mc:10', 'taylor'] }),
    ],
    ['a sweep of such an estimator', 'unsupported', (m) => m.sweep(point(0), { sigmas: [0.1], estimator: 'mmse:10' })],
    ['linearisation', 'unsupported', (m) => m.linearize(point(0), 'gaussian:0.1')],
    ['a slice without directions', 'unsupported', (m) => m.slice(point(0))],
    ['a wrong length', 'usage', (m) => m.logits(point(0).slice(1))],
    ['NaN in x', 'usage', (m) => m.logits(point(0).fill(NaN, 7, 8))],
    ['an unknown estimator', 'usage', (m) => m.estimate(point(0), { noise: 'gaussian:0.1', estimators: 'magic' })],
    ['an abort beforehand', 'aborted', (m) => m.logits(point(0), { signal: AbortSignal.abort() })],
  ])('rejects %s, and keeps working', (_what, code, call) => expectRefusal(ProbustError, model, code, call));

  it('names the estimators that it supports', async () => {
    const error = await errorOf(model.estimate(point(0), { noise: 'gaussian:0.1', estimators: 'taylor' }));
    expect(error.hint).toContain('mc:N');
    expect(error.hint).toContain('probit:N');
    expect(error.hint).not.toContain('mmse');
  });

  it('reports progress and stops on an abort', async () => {
    const controller = new AbortController();
    const seen: number[] = [];
    const onProgress = ({ passes, planned }: { passes: number; planned: number }) => {
      expect(planned).toBe(1000001);
      seen.push(passes);
      if (passes > 500) controller.abort();
    };
    const call = model.estimate(point(0), {
      noise: 'gaussian:0.1',
      estimators: 'mc:1000000',
      signal: controller.signal,
      onProgress,
    });
    expect((await errorOf(call)).code).toBe('aborted');
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(seen.at(-1)).toBeLessThan(5000);
  });

  it('supports simultaneous calls', async () => {
    const options = { noise: 'gaussian:0.3', estimators: ['mc:300', 'probit:20'] };
    const alone = [await model.estimate(point(0), options), await model.estimate(point(1), options)];
    expect(await Promise.all([model.estimate(point(0), options), model.estimate(point(1), options)])).toEqual(alone);
  });

  it('ends the calls of a disposed model', async () => {
    const other = await createOrtModel(probust, digits, { ort });
    const call = errorOf(other.estimate(point(0), { noise: 'gaussian:0.1', estimators: 'mc:1000000' }));
    setTimeout(() => other.dispose(), 50);
    expect((await call).code).toBe('disposed');
  });

  it('keeps an unreferenced model until its calls have ended', async () => {
    setFlagsFromString('--expose-gc');
    const collecting = setInterval(runInNewContext('gc') as () => void, 5);
    const forgetful = async () =>
      (await createOrtModel(probust, digits, { ort })).estimate(point(0), { noise: 'gaussian:0.1', estimators: 'mc:20000' });
    try {
      expect(await forgetful()).toHaveLength(1);
    } finally {
      clearInterval(collecting);
    }
  });

  it('rejects arguments that are not ONNX Runtime or probust', async () => {
    expect((await errorOf(createOrtModel(probust, digits, { ort: {} as never }))).code).toBe('usage');
    expect((await errorOf(createOrtModel({} as never, digits, { ort }))).code).toBe('usage');
    expect((await errorOf(createOrtModel(probust, digits, { ort, batches: 2 } as never))).code).toBe('usage');
  });

  it('rejects calls on disposed models', async () => {
    const other = await createOrtModel(probust, digits, { ort });
    other.dispose();
    expect((await errorOf(other.logits(point(0)))).code).toBe('disposed');
    expect((await model.logits(point(0))).length).toBe(10);
  });

  it('detects an altered model', async () => {
    expect((await own.verify(model)).largest).toBeLessThan(1e-4);
    const bytes = readFileSync(digits);
    const slightly = await own.verify(await createOrtModel(probust, altered(bytes, 0.05), { ort }));
    expect(slightly.points).toBe(8);
    expect(slightly.largest).toBeCloseTo(0.05, 3);
    expect(slightly.worst[0]).toMatchObject({ class: 0, difference: slightly.largest });
    const badly = await own.verify(await createOrtModel(probust, altered(bytes, 1e4), { ort }), { x: point(0, 5) });
    expect(badly.argmaxAgrees).toBe(false);
    expect(badly.disagreements.length).toBeGreaterThan(0);
  });
});

describe('small models', () => {
  const x = [0.5, -0.2, 0.8, 0.1, -1, 0.4, 0.3, 0.9];
  const options = { noise: 'gaussian:0.5', estimators: ['mc:3000', 'probit:200'], seed: 1 };
  const matmul = { op: 'MatMul', inputs: ['x', 'W'], output: 'y' };
  let probust: Probust;
  beforeAll(async () => {
    probust = await createProbust();
  });
  afterAll(() => probust.dispose());
  const both = async (bytes: Uint8Array, given: OrtOptions = {}) =>
    [await probust.loadModel(bytes), await createOrtModel(probust, bytes, { ort, ...given })] as const;

  it('run with operators that the own engine lacks', async () => {
    const unknown = classifier([{ op: 'FusedMatMul', inputs: ['x', 'W'], output: 'y', domain: 'com.microsoft' }]);
    expect(await errorOf(probust.loadModel(unknown))).toMatchObject({ code: 'unsupported', op: 'FusedMatMul' });
    const model = await createOrtModel(probust, unknown, { ort });
    expect(model.info.operators).toMatchObject([{ opType: 'FusedMatMul', runs: false }]);
    const known = await probust.loadModel(classifier([matmul]));
    expect(apart(await model.estimate(x, options), await known.estimate(x, options)).copies).toBe(0);
  });

  it.each([
    ['Softmax', 'the final Softmax is left out, because margins need logits'],
    ['LogSoftmax', 'the final LogSoftmax is left out, because margins need logits'],
  ])('end in logits before a %s', async (op, note) => {
    const [own, other] = await both(
      classifier([
        { ...matmul, output: 'z' },
        { op, inputs: ['z'], output: 'y' },
      ]),
    );
    expect(other.info.notes).toEqual([note]);
    expect(other.info.logits).toBe('y');
    expect(apart(await other.estimate(x, options), await own.estimate(x, options)).p).toBeLessThan(1e-6);
    expect((await own.verify(other)).largest).toBeLessThan(1e-5);
  });

  it('become two classes if one number comes from a Sigmoid', async () => {
    const w = floats('w', [4, 1], [1, -1, 0.5, 2]);
    const nodes = [
      { op: 'MatMul', inputs: ['x', 'w'], output: 'z' },
      { op: 'Sigmoid', inputs: ['z'], output: 'y' },
    ];
    const [own, other] = await both(classifier(nodes, { constants: [w], output: ['N', 1] }));
    expect(other.info.classes).toBe(2);
    expect(other.info.notes.at(-1)).toContain('two classes');
    expect(apart(await other.estimate(x, options), await own.estimate(x, options)).p).toBeLessThan(1e-6);
  });

  it('use one logit, or require a threshold if the own engine lacks an operator', async () => {
    const w = floats('w', [4, 1], [1, -1, 0.5, 2]);
    const logit = classifier([{ op: 'MatMul', inputs: ['x', 'w'], output: 'y' }], { constants: [w], output: ['N', 1] });
    const [own, other] = await both(logit);
    expect(own.info.decision).toBe("class 1 if 'y' > 0");
    expect([own.info.classes, other.info.classes]).toEqual([2, 2]);
    expect(apart(await other.estimate(x, options), await own.estimate(x, options)).copies).toBe(0);
    const fused = { op: 'FusedMatMul', inputs: ['x', 'w'], output: 'y', domain: 'com.microsoft' };
    const unknown = classifier([fused], { constants: [w], output: ['N', 1] });
    expect(await errorOf(createOrtModel(probust, unknown, { ort }))).toMatchObject({ code: 'unsupported' });
    const given = await createOrtModel(probust, unknown, { ort, threshold: 0 });
    expect(apart(await given.estimate(x, options), await own.estimate(x, options)).copies).toBe(0);
  });

  it('have the classes selected by outputs', async () => {
    const bytes = classifier([matmul]);
    const outputs = [2, 0];
    const own = await probust.loadModel(bytes, { outputs });
    const other = await createOrtModel(probust, bytes, { ort, outputs });
    expect(apart(await other.estimate(x, options), await own.estimate(x, options)).copies).toBe(0);
    for (const wrong of [[0], [0, 3], [1, 1]]) {
      expect(await errorOf(createOrtModel(probust, bytes, { ort, outputs: wrong }))).toMatchObject({ code: 'usage' });
      expect(await errorOf(probust.loadModel(bytes, { outputs: wrong }))).toMatchObject({ code: 'usage' });
    }
  });

  it('get a dynamic batch if this does not change the function', async () => {
    const nodes = [
      { op: 'Reshape', inputs: ['x', 'shape'], output: 'z' },
      { ...matmul, inputs: ['z', 'W'] },
    ];
    const shape = longs('shape', [1, 4]);
    const [own, other] = await both(classifier(nodes, { batch: 1, constants: [shape], output: [1, 3] }));
    expect(other.info.notes[0]).toContain('is now dynamic');
    expect(apart(await other.estimate(x, options), await own.estimate(x, options)).copies).toBe(0);
  });

  it('are run one by one if it does not', async () => {
    const nodes = [
      { op: 'ReduceMax', inputs: ['x'], output: 'm', attributes: { keepdims: 1 } }, // its maximum is also over the batch
      { op: 'Add', inputs: ['x', 'm'], output: 'z' },
      { ...matmul, inputs: ['z', 'W'] },
    ];
    const [own, other] = await both(classifier(nodes, { batch: 1, output: [1, 3] }));
    expect(other.info.notes[0]).toContain('one by one');
    expect(apart(await other.estimate(x, options), await own.estimate(x, options)).copies).toBe(0);
    expect((await own.verify(other)).largest).toBeLessThan(1e-5);
  });

  it('can have an unnamed batch dimension', async () => {
    const graph = (batch: number | string) =>
      onnx({
        inputs: [port('x', [batch, 8])],
        outputs: [port('y', [batch, 3])],
        constants: [
          floats(
            'W',
            [8, 3],
            Array.from({ length: 24 }, (_, i) => Math.sin(i)),
          ),
        ],
        nodes: [matmul],
      });
    const [own, model] = await both(graph(-1));
    const points = [...x, ...x.map((value) => -value)];
    expect(await model.logits(points)).toEqual(await (await both(graph('N')))[1].logits(points));
    expect((await own.verify(model)).argmaxAgrees).toBe(true);
  });

  it('are run in groups of their fixed batch', async () => {
    const other = await createOrtModel(probust, classifier([matmul], { batch: 5, output: [5, 3] }), { ort });
    expect(other.info.notes[0]).toContain('fixed at 5');
    const own = await probust.loadModel(classifier([matmul]));
    expect(apart(await other.estimate(x, options), await own.estimate(x, options)).copies).toBe(0);
  });

  it('can return NaN, which counts as no class', async () => {
    const nodes = [
      { op: 'Log', inputs: ['x'], output: 'z' },
      { ...matmul, inputs: ['z', 'W'] },
    ];
    const [own, other] = await both(classifier(nodes));
    const positive = [0.5, 0.2, 0.8, 0.1];
    const [mine, theirs] = [await own.estimate(positive, options), await other.estimate(positive, options)];
    expect(theirs[0]!.p).toBe(mine[0]!.p);
    expect(theirs[0]!.p).toBeGreaterThan(0);
    expect(theirs[1]!.status).toBe(mine[1]!.status);
    expect((await other.estimate([-1, 1, 1, 1], options))[0]).toMatchObject({ p: null, status: 'nonfinite' });
    expect((await own.verify(other, { x: positive })).largest).toBeLessThan(1e-5);
  });

  it('are rejected in one line', async () => {
    const two = onnx({
      inputs: [port('x', ['N', 4]), port('w', [4, 3])],
      outputs: [port('y', ['N', 3])],
      constants: [],
      nodes: [{ ...matmul, inputs: ['x', 'w'] }],
    });
    const codes: [() => Promise<unknown>, string, RegExp][] = [
      [() => createOrtModel(probust, two, { ort }), 'unsupported', /inputs x, w/],
      [
        () => createOrtModel(probust, classifier([{ op: 'Nonsense', inputs: ['x'], output: 'y' }]), { ort }),
        'unsupported',
        /Nonsense/,
      ],
      [() => createOrtModel(probust, new Uint8Array(5000).fill(7), { ort }), 'unreadable', /not an ONNX model/],
      [() => createOrtModel(probust, classifier([matmul]).subarray(0, 90), { ort }), 'unreadable', /damaged/],
      [() => createOrtModel(probust, '/no/such/file.onnx', { ort }), 'unreadable', /loaded/],
      [() => createOrtModel(probust, classifier([matmul]), { ort, output: 'z' }), 'usage', /use one of y/],
      [() => createOrtModel(probust, classifier([matmul]), { ort, batch: 0 }), 'usage', /batch/],
      [() => createOrtModel(probust, classifier([matmul]), { ort, mean: [1, 2, 3] }), 'usage', /mean/],
      [() => createOrtModel(probust, classifier([matmul]), { ort, provider: 'cuda' as 'wasm' }), 'usage', /cuda/],
      [() => createOrtModel(probust, classifier([matmul]), { ort, provider: 'webgpu' }), 'environment', /WebGPU/],
      [() => createOrtModel(probust, classifier([matmul]), { ort, signal: AbortSignal.abort() }), 'aborted', /aborted/],
      // onnxruntime-web cannot be found from the folder of the staged package.
      [() => createOrtModel(probust, classifier([matmul])), 'environment', /npm install onnxruntime-web/],
    ];
    for (const [load, code, line] of codes) {
      const error = await errorOf(load());
      expect(error).toBeInstanceOf(ProbustError);
      expect([error.code, error.message]).toEqual([code, expect.stringMatching(line)]);
      expect(error.message).toMatch(/^[^\n]+$/);
    }
    expect((await (await createOrtModel(probust, classifier([matmul]), { ort })).logits(x)).length).toBe(6);
  });

  it('have the right logits', async () => {
    const logits = await (
      await createOrtModel(probust, classifier([matmul]), { ort, mean: [0.5], std: [2] })
    ).logits(x.slice(0, 4));
    for (let c = 0; c < 3; ++c) {
      const expected = [0, 1, 2, 3].reduce((sum, e) => sum + ((x[e]! - 0.5) / 2) * weights[3 * e + c]!, 0);
      expect(logits[c]).toBeCloseTo(expected, 5);
    }
  });
});

describe('shared models', () => {
  const three = ['mnistfc_256x4', 'lazybogdi_fashion', 'cifar10_resnet_2b'];
  let probust: Probust;
  beforeAll(async () => {
    probust = await createProbust();
  });
  afterAll(() => {
    probust.dispose();
    console.log(['model                      copies   |p - p|  largest of logits  notes', ...table].join('\n'));
  });
  it('the demo', () => agree(probust, 'digits', digits, point(0, 3), {}));
  it.skipIf(!hasShared).each(cases.filter(({ model }) => three.includes(model)))('$model', ({ model, data, options }) =>
    agree(probust, model, join(shared, 'models', `${model}.onnx`), readImages(data), options),
  );
});
if (!hasShared) console.log(`skipped: there are no shared models in ${shared}; set PROBUST_SHARED`);

describe('in Chromium', () => {
  const asked = { noise: ['gaussian:0.1', 'gaussian:0.3'], estimators: ['mc:500', 'probit:40'], seed: 4 };
  const x = Array.from(point(0, 2));
  let expected: Row[];
  beforeAll(async () => {
    const probust = await createProbust();
    expected = await (await probust.loadModel(digits)).estimate(x, asked);
    probust.dispose();
  });

  interface Answer {
    failed?: string;
    engine: string;
    notes: string[];
    rows: Row[];
    largest: number;
  }

  /** Runs a page with this file of onnxruntime-web and these options, and returns the result. */
  async function answerOf(
    file: string,
    options: string,
    { flags = [] as string[], proxy = false, entry = 'probust', created = '{}' } = {},
  ): Promise<Answer> {
    const pages = mkdtempSync(join(tmpdir(), 'probust-ort-'));
    const browser = await launch(flags);
    const server = await serve([pages, staged, runtime, join(root, 'demos/digits')], isolation);
    const script = `import { createProbust } from '/${entry}.mjs';
      import { createOrtModel } from '/ort.mjs';
      const show = (value) => { document.querySelector('#result').textContent = JSON.stringify(value); };
      (async () => {
        const ort = await import('/${file}');
        ort.env.wasm.numThreads = 1;
        ort.env.wasm.proxy = ${proxy};
        const probust = await createProbust(${created});
        const model = await createOrtModel(probust, '/digits.onnx', { ort, ...${options} });
        const estimate = () => model.estimate(${JSON.stringify(x)}, ${JSON.stringify(asked)});
        const [rows, again] = await Promise.all([estimate(), estimate()]); // sessions run one at a time
        if (JSON.stringify(rows) !== JSON.stringify(again)) throw new Error('simultaneous calls differ');
        const { largest } = await (await probust.loadModel('/digits.onnx')).verify(model);
        show({ engine: model.info.engine, notes: model.info.notes, rows, largest });
      })().catch((error) => show({ failed: String(error), cause: String(error.cause) }));`;
    writeFileSync(join(pages, 'page.js'), script);
    writeFileSync(
      join(pages, 'page.html'),
      '<!doctype html><meta charset="utf-8"><pre id="result"></pre><script type="module" src="/page.js"></script>',
    );
    try {
      return JSON.parse(await resultOf(browser, `${server.url}/page.html`, 120_000)) as Answer;
    } finally {
      server.close();
      await browser.close();
      rmSync(pages, { recursive: true, force: true });
    }
  }

  it('gives the same rows as in node, by WebAssembly without WebGPU', async () => {
    const answer = await answerOf('ort.min.mjs', '{}');
    expect(answer.failed).toBeUndefined();
    expect(answer.engine).toBe('onnxruntime-web (wasm)');
    expect(apart(answer.rows, expected).copies).toBeLessThanOrEqual(1);
    expect(answer.largest).toBeLessThan(1e-4);
  });

  it('works if ONNX Runtime runs in its own worker', async () => {
    const answer = await answerOf('ort.min.mjs', "{ provider: 'wasm' }", { proxy: true });
    expect(answer.failed).toBeUndefined();
    expect(apart(answer.rows, expected).copies).toBeLessThanOrEqual(1);
  });

  it('works with threads that share memory', async () => {
    const answer = await answerOf('ort.min.mjs', "{ provider: 'wasm' }", { entry: 'threads', created: '{ threads: 3 }' });
    expect(answer.failed).toBeUndefined();
    expect(apart(answer.rows, expected).copies).toBeLessThanOrEqual(1);
  });

  it('uses WebGPU if there is an adapter', async () => {
    const answer = await answerOf('ort.webgpu.min.mjs', '{}', { flags: webGpuFlags });
    expect(answer.failed).toBeUndefined();
    expect(answer.notes).toEqual([]);
    expect(answer.engine).toBe('onnxruntime-web (webgpu)');
    expect(apart(answer.rows, expected).copies).toBeLessThanOrEqual(2);
    expect(answer.largest).toBeLessThan(1e-3);
  });
});
