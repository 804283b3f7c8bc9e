// SPDX-License-Identifier: MIT
// The view for beginners, the view for projectors, and the vote of noisy samples.
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { dist, launch, problemsOf, seriousViolations, serve, type Server } from './server.js';

let browser: Browser;
let server: Server;
let page: Page;
let problems: string[];

beforeAll(async () => {
  [browser, server] = await Promise.all([launch(), serve(dist)]);
});
afterAll(async () => {
  await browser?.close();
  server?.close();
});
beforeEach(async () => {
  page = await browser.newPage({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' });
  problems = problemsOf(page);
});
afterEach(async () => {
  await page.close();
  expect(problems).toEqual([]);
});

const open = async (hash = '') => {
  await page.goto('about:blank');
  await page.goto(`${server.url}/index.html#${hash}`);
  await page.locator('.estimators li').first().waitFor();
};
const forms = () => page.locator('.estimators li').evaluateAll((all) => all.map((each) => (each as HTMLElement).dataset.form));

it('asks a question, and begins with three described estimators', async () => {
  await open();
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Does the prediction survive noise?');
  expect(await page.getByRole('heading', { level: 1 }).isVisible()).toBe(true);
  expect(await forms()).toEqual(['mc:25', 'taylor', 'softmax:1']);
  expect(await page.locator('.estimators li').allInnerTexts()).toEqual([
    expect.stringMatching(/^mc:25[^]*counts 25 noisy samples/),
    expect.stringMatching(/^taylor[^]*straight lines at the point/),
    expect.stringMatching(/^softmax:1[^]*ignores the noise/),
  ]);
  await page.waitForSelector('#curves svg');
  expect(await page.locator('#correlation, #counting, #convergence, table.rivals').count()).toBe(0);
});

it.each(['', 'lab=image'])('shows all on request, and keeps that in the address: %s', async (hash) => {
  await open(hash);
  const few = (await forms()).length;
  await page.getByRole('button', { name: 'More estimators and panels' }).click();
  await expect.poll(forms).toContain('adf');
  expect((await forms()).length).toBeGreaterThan(few + 3);
  await page.waitForSelector(hash ? '#plane' : '#counting svg');
  await expect.poll(() => page.url()).toContain('more=1');
  await page.getByRole('button', { name: 'Fewer estimators' }).click();
  await expect.poll(async () => (await forms()).length).toBe(few);
});

it('lists exactly the estimators of an address', async () => {
  await open('estimators=adf,mc:50');
  expect(await forms()).toEqual(['adf', 'mc:50']);
  expect(await page.getByText('Choose estimators').count()).toBe(1);
});

it('is larger for a projector, without wide pages or long texts', async () => {
  await open();
  const size = () => page.locator('[data-testid=p]').evaluate((each) => parseFloat(getComputedStyle(each).fontSize));
  const before = await size();
  await page.getByRole('button', { name: 'Projector' }).click();
  await expect.poll(size).toBeGreaterThan(1.15 * before);
  expect(await page.locator('.panel .words:visible').count()).toBe(0);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  expect(await seriousViolations(page)).toEqual([]);
});

it('shows the vote of noisy samples, and a radius only for round Gaussian noise', async () => {
  await open('panels=number,smoothing,estimators&sigma=0.25');
  const radius = page.locator('#smoothing [data-radius]');
  await expect.poll(async () => Number(await radius.getAttribute('data-radius'))).toBeGreaterThan(0);
  // p is 82.66%. The radius is sigma times the normal quantile of p, less the sampling error of 10,000 noisy samples.
  const certified = Number(await radius.getAttribute('data-radius'));
  expect(certified).toBeGreaterThan(0.25 * 0.86);
  expect(certified).toBeLessThan(0.25 * 0.943);
  const shares = (await page.locator('#smoothing svg').getAttribute('aria-label'))!.match(/[\d.]+(?=%)/g)!.map(Number);
  expect(shares.reduce((sum, each) => sum + each, 0)).toBeCloseTo(100, 0);
  for (const hash of ['noise=laplace', 'ratio=3']) {
    await open(`panels=number,smoothing,estimators&${hash}`);
    await expect
      .poll(() => page.locator('#smoothing').innerText(), { timeout: 10_000 })
      .toContain('There is no certified radius');
  }
});

it('changes the distribution of the noise', async () => {
  await open();
  const p = () => page.locator('[data-p]').getAttribute('data-p').then(Number);
  const gaussian = await p();
  const seen = new Set([gaussian]);
  for (const name of ['uniform', 'Laplace', 'clipped to ±1.2']) {
    await page.getByRole('button', { name }).click();
    await expect.poll(async () => seen.has(await p()) && name !== 'clipped to ±1.2').toBe(false);
    seen.add(await p());
  }
  expect(await page.locator('.grip').count()).toBe(0);
  expect(await page.getByLabel('Axis ratio').count()).toBe(0);
  await expect.poll(() => page.url()).toMatch(/noise=laplace.*clip=1/);
  await page.getByRole('button', { name: 'Gaussian', exact: true }).click();
  await page.getByRole('button', { name: 'clipped to ±1.2' }).click();
  await expect.poll(p).toBe(gaussian);
});
