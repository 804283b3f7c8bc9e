// SPDX-License-Identifier: MIT
// Wrong arguments, and calls at the wrong time: the error has a code, and everything else keeps working.
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EstimateOptions, Model, Probust } from '../../build/wasm/npm/types/index.js';
import { digits, errorOf, everywhere, expectRefusal, load, point, staged } from './support.js';

const { createProbust, ProbustError } = await load();
const noise = 'gaussian:0.1';
const wrong = <T>(value: unknown): T => value as T;

/** x after its buffer was transferred to another thread. */
function transferred(x: Float32Array): Float32Array {
  structuredClone(x, { transfer: [x.buffer as ArrayBuffer] });
  return x;
}

describe.each(everywhere)('%s', (_, options) => {
  let probust: Probust;
  let model: Model;
  beforeAll(async () => {
    probust = await createProbust(options);
    model = await probust.loadModel(digits);
  });
  afterAll(() => probust.dispose());

  it.each<[string, (m: Model) => Promise<unknown>]>([
    ['no options', (m) => m.estimate(point(0), wrong(undefined))],
    ['options that are null', (m) => m.sweep(point(0), wrong(null))],
    ['no x', (m) => m.estimate(wrong(null), { noise })],
    ['x of bigints', (m) => m.logits(wrong(new BigInt64Array(256)))],
    ['a plain array of bigints', (m) => m.logits(wrong(Array(256).fill(1n)))],
    ['a plain array of strings', (m) => m.logits(wrong(Array(256).fill('0.5')))],
    ['nested arrays', (m) => m.logits(wrong([Array(256).fill(0.5)]))],
    ['x whose buffer was transferred', (m) => m.logits(transferred(point(0)))],
    ['a misspelt option', (m) => m.estimate(point(0), wrong({ noise, estimator: 'mc:10' }))],
    ['an option of another call', (m) => m.sweep(point(0), wrong({ sigmas: [0.1], estimators: 'mc:10' }))],
    ['an object that is only like an array', (m) => m.logits(wrong({ length: 256 }))],
    [
      'a getter that throws',
      (m) =>
        m.estimate(point(0), {
          noise: 'gaussian:std=c',
          arrays: {
            get c(): never {
              throw new Error('boom');
            },
          },
        }),
    ],
    ['another model without info', (m) => m.verify(wrong({ logits: () => [] }))],
    ['x among the options', (m) => m.logits(point(0), wrong({ x: point(1) }))],
    ['a target that is not a list', (m) => m.estimate(point(0), { noise, target: wrong({}) })],
    ['labels that are not a list', (m) => m.estimate(point(0), { noise, labels: wrong('3') })],
    ['labels for other points', (m) => m.estimate(point(0), { noise, labels: [1, 2] })],
    ['labels that are not whole', (m) => m.estimate(point(0), { noise, labels: [0.5] })],
    ['a label without a name', (m) => m.estimate(point(0), { noise, labels: ['cat'] })],
    ['a target by label without labels', (m) => m.estimate(point(0), { noise, target: 'label' })],
    ['a target without a name', (m) => m.estimate(point(0), { noise, target: 'cat' })],
    ['a class that does not exist', (m) => m.estimate(point(0), { noise, target: 10 })],
    ['groups of classes that do not exist', (m) => m.estimate(point(0), { noise, groups: '0,99' })],
    ['groups with a class twice', (m) => m.estimate(point(0), { noise, groups: [[0, 1], [1]] })],
    ['groups that are no lists', (m) => m.estimate(point(0), { noise, groups: wrong([0, 1]) })],
    ['a place among no logits', (m) => m.estimate(point(0), { noise, estimators: 'mc:10', top: 0 })],
    ['a place among too many logits', (m) => m.estimate(point(0), { noise, estimators: 'mc:10', top: 11 })],
    ['groups and a place', (m) => m.estimate(point(0), { noise, estimators: 'mc:10', top: 2, groups: '0,1' })],
    ['a budget without auto', (m) => m.estimate(point(0), { noise, estimators: 'mc:10', budget: 100 })],
    ['a total without auto', (m) => m.estimate(point(0), { noise, estimators: 'mc:10', totalBudget: 100 })],
    ['a total that is no number', (m) => m.estimate(point(0), { noise, totalBudget: NaN })],
    ['a total that is too small', (m) => m.estimate(point(0), { noise, totalBudget: 3 })],
    ['two budgets', (m) => m.estimate(point(0), { noise, totalBudget: 100, budget: 10 })],
    ['a total for a smooth curve', (m) => m.estimate(point(0), { noise, totalBudget: 100, smooth: true })],
    ['a calibration of counts', (m) => m.estimate(point(0), { noise, estimators: 'mc:10', calibrate: true })],
    ['a target of bigints', (m) => m.linearize(point(0), noise, { target: wrong([1n]) })],
    ['scales of bigints', (m) => m.sweep(point(0), { sigmas: wrong([1n]) })],
    ['no scales', (m) => m.sweep(point(0), { sigmas: [] })],
    ['no estimator to sweep with', (m) => m.sweep(point(0), { sigmas: [0.1], estimator: wrong([]) })],
    ['two estimators to sweep with', (m) => m.sweep(point(0), { sigmas: [0.1], estimator: wrong(['taylor', 'mc:10']) })],
    ['a named array that is null', (m) => m.estimate(point(0), { noise: 'gaussian:std=c', arrays: wrong({ c: null }) })],
    ['a category that is null', (m) => m.estimate(point(0), { noise: 'categorical:g', categories: wrong({ g: [null] }) })],
    [
      'a negative standard deviation',
      (m) => m.estimate(point(0), { noise: 'gaussian:std=c', arrays: { c: { data: Array(256).fill(-1), shape: [256] } } }),
    ],
    ['more samples than the noise generator allows', (m) => m.linearize(point(0), noise, { samples: 2 ** 32 })],
    ['far more samples than that', (m) => m.linearize(point(0), noise, { samples: 2 ** 53 })],
    ['something that is not a signal', (m) => m.estimate(point(0), { noise, signal: wrong(5) })],
    ['something that is not a listener', (m) => m.estimate(point(0), { noise, onProgress: wrong(5) })],
    ['no other model to compare with', (m) => m.verify(wrong(undefined))],
  ])('rejects %s, and keeps working', (_what, call) => expectRefusal(ProbustError, model, 'usage', call));

  it.each<[string, string, (p: Probust) => Promise<unknown>]>([
    ['a matrix that is missing', 'usage', (p) => p.mvn([0, 1], wrong(undefined))],
    ['limits of bigints', 'usage', (p) => p.mvn(wrong([0n]), [1])],
    ['means of bigints', 'usage', (p) => p.loadModel(digits, { mean: wrong([1n]) })],
    ['a misspelt option of models', 'usage', (p) => p.loadModel(digits, wrong({ standard: 1 }))],
    ['a negative extent', 'usage', (p) => p.loadModel(digits, { shape: [-1, 256] })],
    ['bytes whose buffer was transferred', 'usage', (p) => p.loadModel(transferred(new Float32Array(10)))],
    ['nothing to train on', 'usage', (p) => p.train(wrong(undefined))],
    ['labels of bigints', 'usage', (p) => p.train({ x: [1, 2], labels: wrong([0n, 1n]) })],
    ['a misspelt option of data', 'usage', (p) => p.data.moons(wrong({ points: 10 }))],
  ])('rejects %s, and keeps working', async (_what, code, call) => {
    const error = await errorOf(call(probust));
    expect(error).toBeInstanceOf(ProbustError);
    expect(error.code).toBe(code);
    expect(await model.logits(point(0))).toHaveLength(10);
  });

  it('continues other calls if one is rejected', async () => {
    const going = model.estimate(point(0), { noise, estimators: 'mc:20000' });
    expect((await errorOf(model.linearize(point(0), noise, { target: wrong([1n]) }))).code).toBe('usage');
    expect((await going)[0]!.status).toMatch(/^(ok|bound)$/);
  });

  it('uses the names of the package for options', async () => {
    const { message } = await errorOf(model.estimate(point(0), { noise, clip: [1, 0] }));
    expect(message).toMatch(/^clip /);
    expect(message).not.toContain('--');
    expect((await errorOf(probust.loadModel(digits, { output: 'none' }))).message).toMatch(/^output /);
    expect((await errorOf(probust.loadModel(digits, { inputShape: [3] }))).message).toMatch(/^inputShape /);
  });

  it('does not change names from the user', async () => {
    expect((await errorOf(probust.loadModel(digits, { output: 'head--relu' }))).message).toContain("'head--relu'");
  });

  it('accepts one object of options for several calls', async () => {
    const shared = { noise, seed: 1, clip: [0, 1] as const, estimators: 'mc:10', estimator: 'mc:10', sigmas: [0.1] };
    const [row] = await model.estimate(point(0), shared);
    const curve = await model.sweep(point(0), shared);
    expect(curve.p[0]).toBe(row!.p);
    expect((await model.slice(point(0), null, null, shared)).resolution).toBe(64);
    expect((await model.cloud(point(0), { ...shared, count: 3 })).predicted).toHaveLength(3);
    expect((await model.nearestBoundary(point(0), shared)).distance).toBeGreaterThan(0);
    expect((await model.linearize(point(0), noise, shared)).target).toBe(row!.target);
    expect(await model.logits(point(0), shared)).toHaveLength(10);
  });

  it('copies only the given part of a large array', async () => {
    const all = new Float32Array(3e7);
    all.set(point(0), 1e6);
    const begun = performance.now();
    for (let i = 0; i < 20; ++i) {
      const x = all.subarray(1e6, 1e6 + 256);
      expect(await model.logits(x)).toHaveLength(10);
      expect(await model.estimate(x, { noise, estimators: 'mc:10' })).toHaveLength(1);
    }
    expect(performance.now() - begun).toBeLessThan(2000);
  });

  it('copies its arguments', async () => {
    const given: EstimateOptions = { noise: ['gaussian:0.2'], estimators: ['mc:500', 'taylor'], target: [8] };
    const expected = await model.estimate(point(0), given);
    const x = point(0);
    const call = model.estimate(x, given);
    x.fill(0);
    (given.estimators as string[]).fill('softmax');
    (given.noise as string[]).fill('gaussian:9');
    (given.target as number[]).fill(0);
    expect(await call).toEqual(expected);

    const bytes = new Uint8Array(readFileSync(digits));
    const loading = probust.loadModel(bytes);
    bytes.fill(0);
    expect(await (await loading).logits(point(0))).toEqual(await model.logits(point(0)));
  });

  it('keeps an unreferenced model until its calls have ended', async () => {
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as () => void;
    const collecting = setInterval(gc, 5);
    const forgetful = async () =>
      (await probust.loadModel(digits)).estimate(point(0), {
        noise,
        estimators: ['mc:100000', 'mc:90000', 'mc:80000', 'mc:70000'],
      });
    try {
      expect(await forgetful()).toHaveLength(4);
    } finally {
      clearInterval(collecting);
    }
  });

  it('ends a call with the error of its listener', async () => {
    const onProgress = () => {
      throw new Error('mine');
    };
    await expect(model.estimate(point(0), { noise, estimators: 'mc:50000', onProgress })).rejects.toThrow('mine');
    expect(await model.logits(point(0))).toHaveLength(10);
  });

  it('does not start after an abort', async () => {
    expect((await errorOf(createProbust({ ...options, signal: AbortSignal.abort() }))).code).toBe('aborted');
  });
});

describe('sources', () => {
  const bytes = readFileSync(digits);
  let server: Server;
  let address: string;
  let probust: Probust;
  beforeAll(async () => {
    probust = await createProbust();
    // Both addresses send only the beginning of the model. Then /stalls waits forever, and /breaks closes the connection.
    server = createServer((request, response) => {
      response.writeHead(200, { 'content-length': bytes.length });
      response.write(bytes.subarray(0, 1000));
      if (request.url === '/breaks') setTimeout(() => response.destroy(), 20);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    probust.dispose();
    server.closeAllConnections();
    server.close();
  });

  it('that stall can be aborted', async () => {
    expect((await errorOf(probust.loadModel(`${address}/stalls`, { signal: AbortSignal.timeout(100) }))).code).toBe('aborted');
    const response = await fetch(`${address}/stalls`);
    expect((await errorOf(probust.loadModel(response, { signal: AbortSignal.timeout(100) }))).code).toBe('aborted');
  });

  it('that end too early are unreadable', async () => {
    expect((await errorOf(probust.loadModel(`${address}/breaks`))).code).toBe('unreadable');
    expect((await errorOf(probust.loadModel(await fetch(`${address}/breaks`)))).code).toBe('unreadable');
  });

  it('report the HTTP status', async () => {
    const missing = new Response('', { status: 404 });
    expect((await errorOf(probust.loadModel(missing))).message).toContain('HTTP status 404');
  });

  it('can be read only once', async () => {
    const response = new Response(bytes);
    await response.arrayBuffer();
    expect((await errorOf(probust.loadModel(response))).code).toBe('usage');
  });

  it('can be files that the user chose', async () => {
    const model = await probust.loadModel(new File([bytes], 'digits.onnx'));
    expect(model.info.classes).toBe(10);
  });
});

describe('workers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'probust-misuse-'));
  const script = (text: string): string => {
    const path = join(folder, `${text.length}.mjs`);
    writeFileSync(path, text);
    return path;
  };
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('can be given by a path', async () => {
    const probust = await createProbust({ worker: true, workerUrl: join(staged, 'worker.mjs') });
    expect((await probust.mvn([0], [1])).p).toBe(0.5);
    probust.dispose();
  });

  it('that exit are reported', async () => {
    const error = await errorOf(createProbust({ worker: true, workerUrl: script('process.exit(0);') }));
    expect(error.code).toBe('environment');
    expect(error.hint).toContain('workerUrl');
  });

  it('that never respond can be aborted', async () => {
    const workerUrl = script('setInterval(() => undefined, 1000);');
    expect((await errorOf(createProbust({ worker: true, workerUrl, signal: AbortSignal.timeout(200) }))).code).toBe('aborted');
  });

  it('start from a script that is not a file', () => {
    const text = `import { createProbust } from ${JSON.stringify(join(staged, 'probust.mjs'))};
      const probust = await createProbust({ worker: true });
      console.log((await probust.mvn([0], [1])).p);`;
    expect(execFileSync(process.execPath, ['--input-type=module', '-e', text], { encoding: 'utf8' })).toBe('0.5\n');
  });
});

it('reports why it cannot start', async () => {
  // A valid module, but not probust.
  const other = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 2, 7, 1, 1, 97, 1, 98, 0, 0]);
  const path = join(mkdtempSync(join(tmpdir(), 'probust-other-')), 'other.wasm');
  writeFileSync(path, other);
  for (const options of [{}, { worker: true }]) {
    const error = await errorOf(createProbust({ ...options, wasmUrl: path }));
    expect(error.code).toBe('environment');
    expect(error.hint).toContain('wasmUrl');
  }
  expect((await errorOf(createProbust(wrong(null)))).code).toBe('usage');
  expect((await errorOf(createProbust(wrong({ workers: 2 })))).code).toBe('usage');
  expect((await errorOf(createProbust({ worker: wrong('yes') }))).code).toBe('usage');
});
