// SPDX-License-Identifier: MIT
// The table lab in Chromium. Its numbers are compared with those of the command line, if that was built.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProbust, type Probust } from 'probust';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { encoded, inputsOf, tables } from '../src/tables/tables.js';
import { dist, launch, problemsOf, root, seriousViolations, serveStrictly, type Server } from './server.js';

const program = process.env.PROBUST_BIN ?? join(root, 'build/release/bin/probust');
const work = mkdtempSync(join(tmpdir(), 'probust-table-'));
const { iris } = tables;
/** The rows as inputs of the forest, with their labels. */
const csv = join(work, 'iris.csv');

let browser: Browser;
let server: Server;
let page: Page;
let problems: string[];
let probust: Probust;

beforeAll(async () => {
  [browser, server, probust] = await Promise.all([launch(), serveStrictly(dist), createProbust()]);
  const points = iris.rows.map(({ values, label }) => [...encoded(iris, inputsOf(iris, 'forest'), values), label].join(','));
  writeFileSync(csv, points.join('\n') + '\n');
});
afterAll(async () => {
  probust?.dispose();
  await browser?.close();
  server?.close();
  rmSync(work, { recursive: true, force: true });
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
  await page.goto(`${server.url}/index.html#lab=table&${hash}`);
  await page.locator('[data-p]:not(.stale)').waitFor({ timeout: 30_000 });
};
const p = async () => Number(await page.locator('[data-p]').getAttribute('data-p'));
const spearman = async () => {
  const reading = page.locator('[data-spearman]:not([data-spearman=""])');
  await reading.waitFor({ timeout: 30_000 });
  return Number(await reading.getAttribute('data-spearman'));
};
/** The output of the command line. */
const command = (...more: string[]) => {
  const options = ['--sigma', '0.3', '--estimator', 'mc:10000', '--seed', '0', ...more];
  return execFileSync(program, [more[0] === '--json' ? 'distance' : 'estimate', join(root, 'web/models/iris-forest.onnx'), csv, ...options], { encoding: 'utf8' }); // prettier-ignore
};

it('has the numbers of the package', async () => {
  await open('tableRow=70&tableSigma=0.3');
  const model = await probust.loadModel(readFileSync(join(root, 'web/models/iris-forest.onnx')));
  const x = Float32Array.from(encoded(iris, inputsOf(iris, 'forest'), iris.rows[70]!.values));
  const [row] = await model.estimate(x, { noise: 'gaussian:0.3', estimators: 'mc:10000', index: 70, perClass: true });
  expect(await p()).toBe(row!.p);
  const shares = await page
    .locator('[data-share]')
    .evaluateAll((all) => all.map((each) => Number((each as HTMLElement).dataset.share)));
  expect(shares).toEqual(row!.classes);
});

it.skipIf(!existsSync(program))('has the forest’s p and the rank correlation of the command line', async () => {
  await open('tableRow=70&tableSigma=0.3');
  const rows = command('--format', 'jsonl').trim().split('\n').map((line) => JSON.parse(line) as { index: number; p: number }); // prettier-ignore
  expect(await p()).toBeCloseTo(rows.find(({ index }) => index === 70)!.p, 6);
  const found = JSON.parse(command('--json')) as unknown;
  const text = JSON.stringify(found);
  const ranks = [.../"spearman[^"]*":(-?[\d.]+)/.exec(text)!][1];
  expect(await spearman()).toBeCloseTo(Number(ranks), 6);
});

it('follows sliders by the keyboard, and goes back to the row', async () => {
  await open();
  const before = await p();
  await page.getByRole('slider', { name: /petal width [0-9]/ }).focus();
  for (let press = 0; press < 6; ++press) await page.keyboard.press('ArrowLeft');
  await expect.poll(p).not.toBe(before);
  await expect.poll(() => page.url()).toMatch(/tableX=/);
  await page.getByRole('button', { name: 'as in the table' }).click();
  await expect.poll(p).toBe(before);
  await page.getByLabel(/Noise, sigma/).focus();
  await page.keyboard.press('Home');
  await expect.poll(p).toBeGreaterThan(before);
  await page.getByRole('button', { name: 'Next flower' }).click();
  await expect.poll(() => page.locator('[data-row]').textContent()).toBe('71');
});

it('has noise for each column, categories, and a regression with a tolerance', async () => {
  await open('table=days&tableSigma=0.3');
  const same = await p();
  await page.getByText('Noise of each column').click();
  await page.getByLabel(/Noise of temperature/).focus();
  await page.keyboard.press('End');
  await expect.poll(p).toBeLessThan(same - 0.05);
  await open('table=days&tableSigma=0.02&tableChange=0');
  const still = await p();
  await page.getByLabel(/The sky changes/).focus();
  await page.keyboard.press('End');
  await expect.poll(p).toBeLessThan(still - 0.1);
  await page.getByRole('button', { name: /^regression/ }).click();
  const tolerance = page.getByLabel(/Tolerance/);
  await tolerance.waitFor();
  await page.waitForTimeout(500);
  const narrow = await p();
  await tolerance.focus();
  await page.keyboard.press('End');
  await expect.poll(p).toBeGreaterThan(narrow);
  expect(await page.locator('probust-table-lab .lead').innerText()).toMatch(/keep the prediction of \d+ visitors, to within 300/);
});

it('chooses a row in the scatter plot', async () => {
  await open();
  expect(await spearman()).toBeGreaterThan(0.5);
  const dots = page.locator('#scatter circle');
  expect(await dots.count()).toBeGreaterThan(100);
  const before = await page.locator('[data-row]').textContent();
  await dots.nth(5).dispatchEvent('click');
  await expect.poll(() => page.locator('[data-row]').textContent()).not.toBe(before);
  await page.waitForSelector('#ranks svg path');
});

const words = (panel: string) => page.locator(`#${panel} .words`).innerText();

it('has texts that are right for every table and model', async () => {
  for (const model of ['forest', 'network', 'regression']) {
    await open(`table=iris&tableModel=${model}`);
    expect(await words('curves')).toMatch(/Very close to a different prediction, even little noise changes/);
    expect(await words('ranks')).not.toContain('sky');
    expect(await words('scatter')).toContain(model === 'regression' ? 'outside the tolerance' : 'nearest different prediction');
    await open(`table=days&tableModel=${model}`);
    expect(await words('curves')).toContain('The sky changes with probability 0.2 at every sigma');
    expect(await words('ranks')).toMatch(/leaves out changes of the sky/);
    await expect.poll(() => page.locator('[data-distance]').innerText()).toMatch(/away with the same sky\.$/);
    await page.getByText('Source: made-up data.').waitFor();
  }
  await open('table=days&tableChange=0');
  expect(await words('curves')).not.toContain('sky');
  expect(await words('ranks')).toContain('leaves p at 100%');
});

it('says that a prediction is wrong, unless the flower was changed', async () => {
  const wrong = page.locator('[data-wrong]');
  await open();
  expect(await wrong.innerText()).toBe('The prediction is wrong: this is versicolor.');
  await page.getByRole('slider', { name: /sepal length/ }).focus();
  await page.keyboard.press('ArrowRight');
  await wrong.waitFor({ state: 'detached' });
  for (const model of ['network', 'regression']) {
    await open(`tableModel=${model}`);
    expect(await wrong.count()).toBe(0);
  }
});

it('has no sliders without an effect', async () => {
  await open('tableModel=regression');
  await page.getByText('Noise of each column').click();
  expect(await page.getByRole('slider', { name: /Noise of / }).count()).toBe(3);
  await page.getByText('No noise of petal width: it is not an input of this model.').waitFor();
  const width = page.getByRole('slider', { name: /petal width 1.8 cm, not an input of this model/ });
  expect(await width.isDisabled()).toBe(true);
  expect(await page.locator('probust-table-lab .lead').innerText()).toMatch(
    /keep the predicted petal width of 1\.75 cm, to within 0\.2 cm/,
  );
  // The noise of all columns remains in the address.
  await page.getByRole('slider', { name: /Noise of sepal width/ }).focus();
  await page.keyboard.press('Home');
  await expect.poll(() => decodeURIComponent(page.url())).toContain('tableFactors=1,0,1,1');
});

it('keeps p on a phone’s screen while the noise of a column changes, and over the charts', async () => {
  await page.setViewportSize({ width: 360, height: 740 });
  await open();
  const bar = page.locator('.sigma .compact');
  const inside = async () => {
    const { y, height } = (await bar.boundingBox())!;
    return y > 600 && y + height <= 740;
  };
  expect(await bar.innerText()).toBe(await page.locator('[data-p]').innerText());
  await page.getByText('Noise of each column').click();
  const before = await bar.innerText();
  await page.getByRole('slider', { name: /Noise of petal width/ }).focus();
  await page.keyboard.press('Home');
  await expect.poll(() => bar.innerText()).not.toBe(before);
  expect(await inside()).toBe(true);
  await page.locator('#curves').evaluate((each) => each.scrollIntoView());
  expect(await inside()).toBe(true);
});

it('does not ask the user to point at charts that are still computed', async () => {
  let release = (): void => undefined;
  const late = new Promise<void>((resolve) => (release = resolve));
  let workers = 0;
  await page.route(/worker-[^/]*\.js$/, async (route) => {
    if (++workers > 1) await late;
    await route.continue();
  });
  await open();
  expect(await page.locator('.waiting').count()).toBe(3);
  expect(await page.locator('.stale .waiting').count()).toBe(0);
  expect((await page.locator('.reading').allInnerTexts()).join('').trim()).toBe('');
  release();
  await page.waitForSelector('#ranks svg path');
  expect(await page.locator('#curves .reading').innerText()).toMatch(/^Point at the chart/);
  expect(await page.locator('#ranks .reading').innerText()).toMatch(/^Point at the chart/);
});

it.each([
  ['light', 1280],
  ['dark', 360],
] as const)('axe finds no serious violation: %s, %i px', async (colorScheme, width) => {
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height: 800 });
  await open('table=days&tableModel=regression');
  await page.waitForSelector('#ranks svg path');
  expect(await seriousViolations(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
});
