// SPDX-License-Identifier: MIT
// The memory does not grow when models are loaded and then disposed, or garbage-collected.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { digits, load, point } from './support.js';

const bytes = readFileSync(digits);

/** Returns a function that returns the memory size of the instance that is created next. */
function spyOnMemory(): () => number {
  const original = WebAssembly.instantiate;
  let memory: WebAssembly.Memory | undefined;
  WebAssembly.instantiate = (async (...args: Parameters<typeof original>) => {
    const result = (await original(...args)) as unknown as WebAssembly.Instance;
    memory = Object.values(result.exports).find((value) => value instanceof WebAssembly.Memory);
    WebAssembly.instantiate = original;
    return result;
  }) as typeof original;
  return () => memory!.buffer.byteLength;
}

it('does not grow over 1,000 rounds of load, estimate, dispose', async () => {
  const size = spyOnMemory();
  const probust = await (await load()).createProbust();
  const round = async () => {
    const model = await probust.loadModel(bytes);
    const [row] = await model.estimate(point(0), { noise: 'gaussian:0.2', estimators: ['taylor', 'mc:20'] });
    expect(row!.status).toBe('ok');
    model.dispose();
  };
  for (let i = 0; i < 20; ++i) await round();
  const settled = size();
  for (let i = 0; i < 1000; ++i) await round();
  expect(size()).toBe(settled);
});

it('does not grow over trainings', async () => {
  const size = spyOnMemory();
  const probust = await (await load()).createProbust();
  const data = await probust.data.digits({ count: 100 });
  const round = async () => {
    const training = await probust.train(data, { hidden: [64] });
    await training.run(1, { lambda: 0.01 });
    (await training.model()).dispose();
    training.dispose();
  };
  for (let i = 0; i < 20; ++i) await round();
  const settled = size();
  for (let i = 0; i < 100; ++i) await round();
  expect(size()).toBe(settled);
});

it('does not grow over calls that fail or are aborted', async () => {
  const size = spyOnMemory();
  const probust = await (await load()).createProbust();
  const model = await probust.loadModel(bytes);
  const round = async () => {
    await expect(probust.loadModel(bytes.subarray(0, 3000))).rejects.toThrow();
    await expect(model.estimate(point(0), { noise: 'gaussian:0' })).rejects.toThrow();
    const controller = new AbortController();
    const call = model.estimate(point(0, 8), {
      noise: 'gaussian:0.2',
      estimators: 'mc:1000000',
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    await expect(call).rejects.toThrow('aborted');
  };
  for (let i = 0; i < 20; ++i) await round();
  const settled = size();
  for (let i = 0; i < 200; ++i) await round();
  expect(size()).toBe(settled);
});

it('is freed when models are garbage-collected', async () => {
  const collect = (globalThis as { gc?: () => void }).gc;
  expect(collect, 'node runs with --expose-gc').toBeDefined();
  const size = spyOnMemory();
  const probust = await (await load()).createProbust();
  const forget = async () => void (await probust.loadModel(bytes));
  const turn = () => new Promise((resolve) => setTimeout(resolve, 0));
  const rounds = async (n: number) => {
    for (let i = 0; i < n; ++i) {
      await forget();
      if (i % 20 === 19) {
        await turn();
        collect!();
        await turn();
      }
    }
  };
  await rounds(100);
  const settled = size();
  await rounds(600);
  expect(size()).toBe(settled);
});
