// SPDX-License-Identifier: MIT
// Several explorers on one page: what they download and compile, their workers, and their memory.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { dist, launch, problemsOf, serve, type Server } from './server.js';

let browser: Browser;
let server: Server;
let pages: string;
let page: Page;
let problems: string[];

beforeAll(async () => {
  pages = mkdtempSync(join(tmpdir(), 'probust-sharing-'));
  // With this flag, memory is measured immediately, not at the next garbage collection.
  [browser, server] = await Promise.all([launch('--enable-blink-features=ForceEagerMeasureMemory'), serve(dist, pages)]);
});
afterAll(async () => {
  await browser?.close();
  server?.close();
  rmSync(pages, { recursive: true, force: true });
});
beforeEach(async () => {
  page = await browser.newPage({ viewport: { width: 1000, height: 900 } });
  problems = problemsOf(page);
});
afterEach(async () => {
  await page.close();
  expect(problems).toEqual([]);
});

/** Makes the page count what it compiles, and sets the number of cores that it reports. */
function prepare(cores: number): void {
  Object.defineProperty(navigator, 'hardwareConcurrency', { value: cores });
  const counts = { compiled: 0 };
  Object.assign(globalThis, { counts });
  const compiler = WebAssembly as unknown as Record<string, (...given: unknown[]) => unknown>;
  for (const name of ['compile', 'compileStreaming', 'instantiateStreaming']) {
    const original = compiler[name]!;
    compiler[name] = (...given) => (++counts.compiled, original.apply(WebAssembly, given));
  }
}

/** Opens a page with this many explorers, and waits until each has all its results. */
async function open(explorers: number, cores: number): Promise<void> {
  const one = '<probust-explorer embed panels="picture,number,estimators,convergence"></probust-explorer>';
  writeFileSync(
    join(pages, 'page.html'),
    `<!doctype html><meta charset="utf-8"><title>test</title><link rel="icon" href="icon.svg"><style>body { display: flex } probust-explorer { flex: 1 }</style>
     <script type="module" src="/probust-explorer.js"></script>${one.repeat(explorers)}`,
  );
  await page.addInitScript(prepare, cores);
  await page.goto(`${server.url}/page.html`);
  await expect.poll(() => page.locator('#convergence svg.chart').count(), { timeout: 30_000 }).toBe(explorers);
}

const compiled = () => page.evaluate(() => (globalThis as unknown as { counts: { compiled: number } }).counts.compiled);
const remove = () => page.evaluate(() => document.querySelector('probust-explorer')!.remove());

it.each([
  [1, 1, 1],
  [1, 8, 2],
  [3, 1, 1],
  [3, 2, 2],
  [3, 8, 6],
])('has one download of each part for %i explorers on %i cores, and %i workers', async (explorers, cores, workers) => {
  const before = server.files().length;
  await open(explorers, cores);
  const files = server.files().slice(before);
  const modules = files.filter((file) => file.includes('.wasm')).map((file) => file.replace(/-.{8}\.wasm.*$/, ''));
  expect(modules.sort()).toEqual(['/assets/probust', '/assets/probust-more']);
  expect(await compiled()).toBe(2);
  expect(page.workers()).toHaveLength(workers);
});

it('ends the workers with the last explorer, and starts them again', async () => {
  await open(3, 2);
  await remove();
  await page.waitForTimeout(300);
  expect(page.workers()).toHaveLength(2);
  // The other explorers still respond.
  await page.evaluate(() => {
    const seen: unknown[] = [];
    Object.assign(globalThis, { seen });
    addEventListener('result', (event) => seen.push((event as CustomEvent<{ sigma: number }>).detail.sigma));
    for (const each of document.querySelectorAll('probust-explorer')) Object.assign(each, { state: { sigma: 0.37 } });
  });
  await page.waitForFunction(
    () => (globalThis as unknown as { seen: number[] }).seen.filter((sigma) => sigma === 0.37).length >= 2,
  );
  await remove();
  await remove();
  await expect.poll(() => page.workers().length).toBe(0);
  await page.evaluate(() => document.body.append(document.createElement('probust-explorer')));
  await page.waitForFunction(() => document.querySelector('probust-explorer')?.shadowRoot?.querySelector('probust-plane-lab'));
  await page.waitForFunction(() =>
    document
      .querySelector('probust-explorer')!
      .shadowRoot!.querySelector('probust-plane-lab')!
      .shadowRoot!.querySelector('[data-p]'),
  );
  expect(await compiled()).toBe(2);
});

/** Prepended to a worker's script: stores the memory of the newest module. */
const remember = `const { instantiate } = WebAssembly;
WebAssembly.instantiate = async (...given) => {
  const instance = await instantiate.apply(WebAssembly, given);
  globalThis.newest = Object.values(instance.exports).find((each) => each instanceof WebAssembly.Memory) ?? globalThis.newest;
  return instance;
};
`;

const rememberMemory = () =>
  page.route(/worker-[^/]*\.js$/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: remember + (await response.text()) });
  });

/**
 * Bytes of the page and its workers after garbage collection, plus the memories of the modules, which the browser's measurement
 * omits.
 */
async function memory(): Promise<number> {
  const counted = await page.evaluate(async () => {
    const measured = performance as unknown as { measureUserAgentSpecificMemory(): Promise<{ bytes: number }> };
    return (await measured.measureUserAgentSpecificMemory()).bytes;
  });
  const size = () => (globalThis as unknown as { newest: WebAssembly.Memory }).newest.buffer.byteLength;
  return (await Promise.all(page.workers().map((worker) => worker.evaluate(size)))).reduce((sum, each) => sum + each, counted);
}

/** Moves the point of the first explorer, once for each frame. */
const drag = (moves: number) =>
  page.evaluate(async (moves) => {
    const explorer = document.querySelector('probust-explorer') as unknown as { state: object };
    for (let i = 0; i < moves; ++i) {
      explorer.state = { x: [Math.cos(i / 15), Math.sin(i / 15)] };
      await new Promise(requestAnimationFrame);
    }
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }, moves);

it('uses no more memory after 300 drags than after 100', async () => {
  await rememberMemory();
  await open(3, 2);
  const after: number[] = [];
  for (let hundred = 0; hundred < 3; ++hundred) {
    await drag(100);
    after.push(await memory());
  }
  console.log('memory after 100, 200, 300 drags:', after.map((bytes) => `${(bytes / 1e6).toFixed(1)} MB`).join(', '));
  expect(after[0]).toBeGreaterThan(32e6); // the modules' memories are counted
  expect(after[2]! - after[0]!).toBeLessThan(10e6);
});
