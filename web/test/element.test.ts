// SPDX-License-Identifier: MIT
// <probust-explorer> in other pages: attributes, events and removal. Also tests the pages of demos/embed.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { dist, launch, problemsOf, root, serve, type Server } from './server.js';

let browser: Browser;
let server: Server;
let pages: string;
let page: Page;
let problems: string[];

beforeAll(async () => {
  pages = mkdtempSync(join(tmpdir(), 'probust-embed-'));
  mkdirSync(join(pages, 'embed/vendor'), { recursive: true });
  for (const name of ['react', 'react-dom']) {
    const file = `${name}.production.min.js`;
    cpSync(join(root, 'web/node_modules', name, 'umd', file), join(pages, 'embed/vendor', file));
  }
  cpSync(join(dist, 'icon.svg'), join(pages, 'favicon.ico'));
  [browser, server] = await Promise.all([launch(), serve(dist, pages, join(root, 'demos'))]);
});
afterAll(async () => {
  await browser?.close();
  server?.close();
  rmSync(pages, { recursive: true, force: true });
});
beforeEach(async () => {
  page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
  problems = problemsOf(page);
});
afterEach(async () => {
  await page.close();
  expect(problems).toEqual([]);
});

const events = ['ready', 'progress', 'result', 'error', 'statechange'];

/** Opens a page with this body, which records the component's events in `seen`. */
async function open(body: string): Promise<void> {
  const script = `globalThis.seen = []; for (const type of ${JSON.stringify(events)}) addEventListener(type, (event) => { if (event instanceof CustomEvent) seen.push([type, event.target.localName, event.detail]); });`;
  writeFileSync(
    join(pages, 'page.html'),
    `<!doctype html><meta charset="utf-8"><title>test</title><script>${script}</script><script type="module" src="/probust-explorer.js"></script>${body}`,
  );
  await page.goto(`${server.url}/page.html`);
}

type Seen = [type: string, from: string, detail: Record<string, unknown>];
const seen = (type: string) =>
  page.evaluate((wanted) => (globalThis as unknown as { seen: Seen[] }).seen.filter(([each]) => each === wanted), type);
const until = (type: string, count = 1) =>
  page.waitForFunction(
    ([wanted, least]) =>
      (globalThis as unknown as { seen: Seen[] }).seen.filter(([each]) => each === wanted).length >= (least as number),
    [type, count],
  );

it('takes its state from attributes, and dispatches events that bubble', async () => {
  await open(
    '<probust-explorer model="moons" x="0.2,0.4" sigma="0.3" panels="picture,number" theme="dark" embed></probust-explorer>',
  );
  await until('result');
  expect(await seen('ready')).toEqual([['ready', 'probust-explorer', { model: 'moons' }]]);
  const [, from, detail] = (await seen('result'))[0]!;
  expect(from).toBe('probust-explorer');
  expect(detail).toMatchObject({
    x: [0.2, 0.4],
    sigma: 0.3,
    predicted: 0,
    status: expect.stringMatching(/^(ok|inexact)/) as string,
  });
  expect(detail.p).toBeGreaterThan(0.9);

  await page.evaluate(() => document.querySelector('probust-explorer')!.setAttribute('sigma', '0.6'));
  await page.waitForFunction(() =>
    (globalThis as unknown as { seen: Seen[] }).seen.some(([type, , row]) => type === 'result' && row.sigma === 0.6),
  );
  const states = await seen('statechange');
  expect(states.at(-1)![2]).toMatchObject({ sigma: 0.6, model: 'moons', theme: 'dark' });
  expect(await page.locator('[role=tab]').count()).toBe(0);
  expect(await page.locator('.panel').count()).toBe(0);
  expect(await page.evaluate(() => location.hash)).toBe('');
});

it('takes the same attributes for the image lab', async () => {
  await open('<probust-explorer lab="image" sigma="0.15" estimators="taylor,mc:50" embed></probust-explorer>');
  await until('result');
  const state = await page.evaluate(
    () => (document.querySelector('probust-explorer') as unknown as { state: Record<string, unknown> }).state,
  );
  expect(state).toMatchObject({ lab: 'image', imageSigma: 0.15, imageEstimators: ['taylor', 'mc:50'], sigma: 0.25 });
});

it('reports a model that cannot be loaded', async () => {
  await open('<probust-explorer model="/nowhere.onnx"></probust-explorer>');
  await until('error');
  await expect
    .poll(() => page.locator('[role=alert]').textContent())
    .toContain('The model at /nowhere.onnx cannot be fetched (HTTP status 404)');
  // The browser logs the missing file, which is expected here.
  problems.splice(0);
});

it('loads nothing before it is visible', async () => {
  await open('<div style="height: 4000px"></div><probust-explorer></probust-explorer>');
  const before = server.files().length;
  await page.waitForTimeout(500);
  expect(
    server
      .files()
      .slice(before)
      .filter((file) => /wasm|lab/.test(file)),
  ).toEqual([]);
  expect(page.workers()).toHaveLength(0);
  await page.evaluate(() => scrollTo(0, 4000));
  await until('result');
});

it('names invalid values until valid ones are set', async () => {
  await open('<probust-explorer sigma="-3" lab="zzz"></probust-explorer>');
  await until('result');
  const alert = page.locator('probust-explorer [role=alert]');
  expect(await alert.textContent()).toBe('These values are not valid: lab, sigma.');
  const set = (state: object) =>
    page.evaluate((given) => void Object.assign(document.querySelector('probust-explorer')!, { state: given }), state);
  await set({ x: 'abc', estimators: 5, nonsense: 1, seed: NaN, ratio: 2 });
  await expect.poll(() => alert.textContent()).toBe('These values are not valid: x, estimators, nonsense, seed.');
  await set({ sigma: 0.4 });
  await expect.poll(() => alert.count()).toBe(0);
  expect(
    await page.evaluate(() => (document.querySelector('probust-explorer') as unknown as { state: object }).state),
  ).toMatchObject({
    ...{ sigma: 0.4, ratio: 2, lab: 'plane', x: [-0.86, 0.06] },
  });
});

it('ends its workers when it is removed, and starts again when it is put back', async () => {
  await open('<probust-explorer></probust-explorer>');
  await page.waitForSelector('#curves svg');
  expect(page.workers()).toHaveLength(2);
  await page.evaluate(() => {
    const element = document.querySelector('probust-explorer')!;
    Object.assign(globalThis, { element });
    element.remove();
  });
  await expect.poll(() => page.workers().length).toBe(0);
  const before = (await seen('result')).length;
  await page.evaluate(() => ((globalThis as unknown as { element: { state: object } }).element.state = { sigma: 0.5 }));
  await page.waitForTimeout(300);
  expect((await seen('result')).length).toBe(before);
  await page.evaluate(() => document.body.append((globalThis as unknown as { element: Node }).element));
  await page.waitForFunction(() =>
    (globalThis as unknown as { seen: Seen[] }).seen.some(([type, , row]) => type === 'result' && row.sigma === 0.5),
  );
});

it('can be removed while it loads', async () => {
  await open('<probust-explorer></probust-explorer>');
  for (const wait of [0, 60, 150, 300]) {
    await page.waitForTimeout(wait);
    await page.evaluate(() => {
      const element = document.querySelector('probust-explorer')!;
      element.remove();
      document.body.append(element);
    });
  }
  await until('result');
  await page.evaluate(() => document.querySelector('probust-explorer')!.remove());
  await expect.poll(() => page.workers().length).toBe(0);
  expect(await seen('error')).toEqual([]);
});

it.each(['curves', 'convergence', 'correlation', 'counting'])('shows a panel in a frame: ?embed=1&panel=%s', async (name) => {
  await page.goto(`${server.url}/index.html?embed=1&panel=${name}#model=moons&sigma=0.4`);
  await page.waitForSelector(`#${name} svg.chart`);
  expect(await page.locator('.panel').count()).toBe(1);
  expect(await page.locator('canvas, header, footer:visible').count()).toBe(0);
  expect(await page.locator('.words').isVisible()).toBe(true);
  await page.evaluate(() => document.querySelector('probust-explorer')!.setAttribute('brief', ''));
  await expect.poll(() => page.locator('.words:visible, .source:visible').count()).toBe(0);
});

it.each([
  ['index', '#p:has-text("%")'],
  ['react', '#p:has-text("sigma 0.2")'],
])('demos/embed/%s.html works', async (name, selector) => {
  await page.goto(`${server.url}/embed/${name}.html`);
  await page.waitForSelector(selector);
});

it('follows a property that React sets', async () => {
  await page.goto(`${server.url}/embed/react.html`);
  await page.waitForSelector('#p:has-text("sigma 0.2")');
  await page.getByRole('button', { name: 'sigma 0.4' }).click();
  await page.waitForSelector('#p:has-text("at sigma 0.4")');
});

it('synchronizes a dashboard of three', async () => {
  await page.goto(`${server.url}/embed/dashboard.html`);
  await page.waitForSelector('#curves svg');
  await page.waitForSelector('#correlation svg');
  await page.locator('.handle').press('Shift+ArrowRight');
  await expect
    .poll(() =>
      page.evaluate(() =>
        [...document.querySelectorAll('probust-explorer')].map(
          (each) => (each as unknown as { state: { x: number[] } }).state.x[0],
        ),
      ),
    )
    .toEqual([0.407, 0.407, 0.407]);
});
