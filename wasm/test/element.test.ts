// SPDX-License-Identifier: MIT
// The components of probust/element, in Chromium under the strict policy.
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { load, point, root, staged } from './support.js';
import { launch, serve, strictPolicy, type Browser } from './server.js';

const work = mkdtempSync(join(tmpdir(), 'probust-element-'));
const asked = new Map<string, number>();
let server: Awaited<ReturnType<typeof serve>>;
let browser: Browser;
let page: Page;
let problems: string[];

/** Points as a CSV file, with their number as label. */
const csv = (count: number) => Array.from({ length: count }, (_, i) => [...point(i), `${i % 3}`].join(',')).join('\n') + '\n';

beforeAll(async () => {
  writeFileSync(join(work, 'index.html'), '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>');
  writeFileSync(join(work, 'favicon.ico'), '');
  writeFileSync(join(work, 'points.csv'), csv(12));
  const count = (path: string) => (asked.set(path, (asked.get(path) ?? 0) + 1), true);
  symlinkSync(staged, join(work, 'npm'));
  const folders = [work, staged, join(root, 'demos/digits'), join(root, 'demos/components')];
  server = await serve(folders, { 'content-security-policy': `${strictPolicy}; style-src 'self'` }, count);
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  server?.close();
  rmSync(work, { recursive: true, force: true });
});
beforeEach(async () => {
  page = await browser.context.newPage();
  problems = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  await page.goto(`${server.url}/index.html`);
  await page.addScriptTag({ url: '/element.mjs', type: 'module' });
  asked.clear();
});
afterEach(() => page.close());

const show = (markup: string) => page.evaluate((text) => void (document.body.innerHTML = text), markup);
/** The component's text, once it has finished. */
async function shown(name: string): Promise<string> {
  await page.locator(`${name} [aria-busy=false], ${name} [role=alert]`).first().waitFor();
  return (await page.locator(`${name}`).evaluate((each) => each.shadowRoot!.textContent!)).replace(/\s+/g, ' ').trim();
}

it('shows the numbers of the library', async () => {
  const probust = await (await load()).createProbust();
  const model = await probust.loadModel(join(root, 'demos/digits/digits.onnx'));
  const [row] = await model.estimate(point(1), { noise: 'gaussian:0.3', estimators: 'mc:400', seed: 5 });
  probust.dispose();
  const x = Array.from(point(1)).join(',');
  await show(`<probust-number model="digits.onnx" x="${x}" sigma="0.3" estimators="mc:400" seed="5"></probust-number>`);
  const text = await shown('probust-number');
  expect(text).toContain(`${(100 * row!.p!).toFixed(1)} %`);
  expect(text).toContain(`The answer ${row!.predicted} survives`);
  expect(text).toContain('400 passes');
  expect(problems).toEqual([]);
});

it('draws a curve with axes, a band, a readout and a table', async () => {
  await show('<probust-curve model="digits.onnx" points="points.csv" sigma="0.1..0.6:6" estimators="mc:200"></probust-curve>');
  expect(await shown('probust-curve')).toContain('mean over 12 points, mc:200, gaussian noise');
  const chart = page.locator('probust-curve svg[role=img]');
  expect(await chart.getAttribute('aria-label')).toMatch(/^p against sigma: [\d.]+\s% at 0.1, [\d.]+\s% at 0.6$/);
  expect(await chart.locator('text').allTextContents()).toEqual(
    expect.arrayContaining(['0 %', '100 %', '0.2', 'p', 'sigma, in units of the data']),
  );
  expect((await chart.locator('.line').getAttribute('d'))!.split('L')).toHaveLength(6);
  expect((await chart.locator('.band').getAttribute('d'))!.split('L')).toHaveLength(12);
  expect(await page.locator('probust-curve tbody tr').count()).toBe(6);
  await chart.focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  expect(await page.locator('probust-curve .readout').textContent()).toMatch(/^sigma 0.143: /);
  expect(problems).toEqual([]);
});

it('compares estimators, classes and points', async () => {
  const common = 'model="digits.onnx" points="points.csv" sigma="0.3"';
  await show(`<probust-estimators ${common} estimators="taylor,mc:100"></probust-estimators>
    <probust-bias ${common} estimators="mc:100" class-names="zero,one,two"></probust-bias>
    <probust-gallery ${common} estimators="mc:100" count="3"></probust-gallery>`);
  expect(await shown('probust-estimators')).toMatch(/taylor .*mc:100 .*100 ?$/);
  expect(await shown('probust-bias')).toMatch(/zero.*one.*two.*is the most fragile class.*12 points/);
  expect(await shown('probust-gallery')).toMatch(/Least robust.*Most robust/);
  expect(await page.locator('probust-gallery button').count()).toBe(6);
  // A row of 256 numbers is no image; with their shape they are.
  expect(await page.locator('probust-gallery canvas').count()).toBe(0);
  expect(problems).toEqual([]);
});

it('takes rows and points as properties', async () => {
  await show('<probust-gallery count="2"></probust-gallery>');
  expect(await page.locator('probust-gallery [part=empty]').textContent()).toBe('No model or rows yet.');
  const chosen = await page.evaluate(
    async (pixels) => {
      const rows = [0.2, 0.9, 0.5].map((p, index) => ({
        ...{ index, label: 1, predicted: index, target: index, noise: 'gaussian:0.1', sigma: 0.1, estimator: 'mc:10' },
        ...{ p, pFail: 1 - p, stdError: null, ciLow: null, ciHigh: null, forwards: 10, backwards: 0 },
        ...{ status: 'ok' as const, method: 'mc:10', note: null },
      }));
      const gallery = document.querySelector<HTMLElement & { rows: unknown; points: unknown }>('probust-gallery')!;
      const ready = new Promise((resolve) => gallery.addEventListener('probust-rows', resolve));
      Object.assign(gallery, { rows, points: { x: Float32Array.from(pixels), pointShape: [1, 16, 16] } });
      await ready;
      const selected = new Promise<CustomEvent>((resolve) => document.addEventListener('probust-select', resolve as never));
      await new Promise(requestAnimationFrame);
      gallery.shadowRoot!.querySelector('button')!.click();
      return (await selected).detail.row.index as number;
    },
    Array.from(point(0, 3)),
  );
  expect(chosen).toBe(0);
  expect(await shown('probust-gallery')).toMatch(/Least robust 20.0 % 0, should be 1 .*Most robust 90.0 %/);
  expect(
    await page
      .locator('probust-gallery canvas')
      .first()
      .evaluate((each) => (each as HTMLCanvasElement).width),
  ).toBe(16);
  expect(problems).toEqual([]);
});

it('drops outdated work, and errors with their cause', async () => {
  await show('<probust-number model="digits.onnx" points="points.csv" sigma="0.3" estimators="mc:20000"></probust-number>');
  const seen = await page.evaluate(async () => {
    const number = document.querySelector('probust-number')!;
    const rows: string[] = [];
    number.addEventListener('probust-rows', (event) => rows.push(event.detail.rows[0]!.estimator));
    await new Promise((resolve) => number.addEventListener('probust-progress', resolve, { once: true }));
    number.setAttribute('estimators', 'mc:10');
    await new Promise((resolve) => number.addEventListener('probust-rows', resolve));
    await new Promise((resolve) => setTimeout(resolve, 300));
    return rows;
  });
  expect(seen).toEqual(['mc:10']);
  await page.locator('probust-number').evaluate((each) => each.setAttribute('sigma', '-1'));
  expect(await shown('probust-number')).toMatch(/^.*-1.*$/);
  expect(await page.locator('probust-number [role=alert]').count()).toBe(1);
  await page.locator('probust-number').evaluate((each) => each.setAttribute('sigma', '0.1'));
  await page.locator('probust-number [role=alert]').waitFor({ state: 'detached' });
  expect(await shown('probust-number')).toContain('On average over 12 points');
  await page.locator('probust-number').evaluate((each) => each.setAttribute('model', 'missing.onnx'));
  await page.locator('probust-number [role=alert]').waitFor();
  expect(await shown('probust-number')).toMatch(/missing\.onnx.*404/);
});

it('shares one module and one model, and ends with the last component', async () => {
  const one = '<probust-number model="digits.onnx" points="points.csv" sigma="0.2" estimators="mc:50"></probust-number>';
  await show(one.repeat(3));
  for (let i = 0; i < 3; ++i) await page.locator('probust-number').nth(i).locator('[aria-busy=false]').waitFor();
  expect(asked.get('/probust.wasm')).toBe(1);
  expect(asked.get('/digits.onnx')).toBe(1);
  const cores = await page.evaluate(() => navigator.hardwareConcurrency);
  expect(page.workers().length).toBeGreaterThan(0);
  expect(page.workers().length).toBeLessThanOrEqual(cores);
  await show(one); // replaces all three at once
  await page.locator('probust-number [aria-busy=false]').waitFor();
  expect([asked.get('/probust.wasm'), asked.get('/digits.onnx')]).toEqual([1, 1]);
  await show('');
  await expect.poll(() => page.workers().length).toBe(0);
});

it('makes a dashboard', async () => {
  const dashboard = await browser.context.newPage();
  const said: string[] = [];
  dashboard.on('pageerror', (error) => said.push(String(error)));
  await dashboard.goto(`${server.url}/dashboard.html`);
  for (const name of ['number#one', 'number#all', 'bias', 'gallery', 'curve', 'estimators'])
    await dashboard.locator(`probust-${name} [aria-busy=false]`).waitFor();
  expect(said).toEqual([]);
  const text = () => dashboard.locator('#one').evaluate((each) => each.shadowRoot!.textContent);
  const before = await text();
  await dashboard.locator('probust-gallery [part=most] button').first().click();
  await expect.poll(text).not.toBe(before);
  await dashboard.close();
});
