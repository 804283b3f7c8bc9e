// SPDX-License-Identifier: MIT
// The data-set lab in Chromium.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProbust, type Probust, type Row } from 'probust';
import type { Bias } from 'probust/analysis';
import { readRows, writeRows } from 'probust/data';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { finding, verdict } from '../src/labs/dataset/fragile.js';
import { encoded, inputsOf, tables } from '../src/tables/tables.js';
import { dist, launch, problemsOf, root, seriousViolations, serveStrictly, type Server } from './server.js';

const program = process.env.PROBUST_BIN ?? join(root, 'build/release/bin/probust');

let browser: Browser;
let server: Server;
let page: Page;
let problems: string[];
let probust: Probust;
/** The results that the lab shows for 200 digits. */
let rows: Row[];

beforeAll(async () => {
  [browser, server, probust] = await Promise.all([launch(), serveStrictly(dist), createProbust()]);
  const model = await probust.loadModel(readFileSync(join(root, 'web/models/digits.onnx')));
  const { x, labels } = await probust.data.digits({ count: 200, seed: 500 });
  const estimators = ['auto', 'softmax:1'];
  rows = await model.estimate(x, { noise: 'gaussian:0.3', estimators, labels: Array.from(labels), seed: 0 });
});
afterAll(async () => {
  probust?.dispose();
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

const open = async (hash = '', points = 200) => {
  await page.goto('about:blank');
  await page.goto(`${server.url}/index.html#lab=dataset&dataCount=${points}&${hash}`);
  await page.locator(`.lab[data-points="${points}"]`).waitFor({ timeout: 60_000 });
};
const ofP = () => rows.filter(({ estimator }) => !estimator.startsWith('softmax'));
const softmaxOf = (index: number) => rows.find((row) => row.index === index && row.estimator.startsWith('softmax'))!.p!;
const within = ([pLow, pHigh, sLow, sHigh]: number[]) =>
  ofP().filter(({ index, p }) => p! >= pLow! && p! <= pHigh! && softmaxOf(index) >= sLow! && softmaxOf(index) <= sHigh!);
const selected = async () => Number(await page.locator('[data-selected]').getAttribute('data-selected'));
/** The text of the element that has the focus. */
const focused = () =>
  page.evaluate(() => {
    let found = document.activeElement;
    while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
    return (found as HTMLElement).innerText;
  });
/** The mean p of each label. */
const byLabel = () =>
  [...new Set(ofP().map(({ label }) => label!))]
    .sort((a, b) => a - b)
    .map((of) => ofP().filter(({ label }) => label === of))
    .map((own) => ({ mean: own.reduce((sum, { p }) => sum + p!, 0) / own.length }));
/** The position of the dot on the screen, from the margins of the plot. */
const dotOf = async (index: number) => {
  const { x, y, width, height } = (await page.locator('probust-scatter').boundingBox())!;
  const { p } = ofP().find((row) => row.index === index)!;
  return { x: x + 44 + softmaxOf(index) * (width - 54), y: y + 8 + (1 - p!) * (height - 46) };
};
/** Moves a finger up or down. */
const swipe = async ([x, y]: [number, number], way: number) => {
  const session = await page.context().newCDPSession(page);
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', at?: number) =>
    session.send('Input.dispatchTouchEvent', { type, touchPoints: at === undefined ? [] : [{ x, y: at }] });
  await touch('touchStart', y);
  for (let i = 1; i <= 10; ++i) await touch('touchMove', y + (way * i) / 10);
  await touch('touchEnd');
  // A touch too soon after a swipe would only stop the scrolling.
  await page.waitForTimeout(500);
};
const brush = () =>
  page.evaluate(() => (document.querySelector('probust-explorer') as unknown as { state: { brush: number[] } }).state.brush);

it('has the numbers of the package, and exports the selection', async () => {
  await open('brush=0,0.6,0.9,1');
  const wanted = within([0, 0.6, 0.9, 1]);
  expect(wanted.length).toBeGreaterThan(3);
  expect(await selected()).toBe(wanted.length);
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'JSONL' }).click()]);
  const written = readFileSync((await download.path())!, 'utf8').trim().split('\n').map((line) => JSON.parse(line) as Row); // prettier-ignore
  expect(written.map(({ index }) => index)).toEqual(wanted.map(({ index }) => index));
  written.forEach(({ p, label }, i) => {
    expect(p).toBeCloseTo(wanted[i]!.p!, 6);
    expect(label).toBe(wanted[i]!.label);
  });
});

it('shows the accuracy without and under noise', async () => {
  await open('');
  const words = await page.getByTestId('accuracies').innerText();
  const [clean, noisy] = [...words.matchAll(/([\d.]+)%/g)].map(([, share]) => Number(share) / 100);
  const right = ofP().filter(({ label, predicted }) => label === predicted).length / ofP().length;
  expect(clean).toBeCloseTo(right, 2);
  expect(noisy).toBeGreaterThan(0);
  expect(noisy).toBeLessThanOrEqual(clean!);
});

it('selects with the pointer, the keyboard and buttons', async () => {
  await open();
  const { x, y, width, height } = (await page.locator('probust-scatter').boundingBox())!;
  await page.mouse.move(x + 0.5 * width, y + 0.2 * height);
  await page.mouse.down();
  await page.mouse.move(x + 0.97 * width, y + 0.8 * height, { steps: 5 });
  await page.mouse.up();
  await expect.poll(async () => await selected()).toBe(within(await brush()).length);
  const before = await brush();
  await page.getByRole('application', { name: /^Lower left corner/ }).focus();
  await page.keyboard.press('Shift+ArrowDown');
  await expect.poll(brush).not.toEqual(before);
  expect((await brush())[0]).toBeCloseTo(before[0]! - 0.1, 2);
  expect(await selected()).toBe(within(await brush()).length);
  await page.getByRole('button', { name: 'everything' }).click();
  await expect.poll(selected).toBe(200);
  await page.getByRole('button', { name: 'confident but fragile' }).click();
  await expect.poll(selected).toBe(within([0, 0.6, 0.9, 1]).length);
  await expect.poll(() => page.url()).toContain('lab=dataset');
});

it('asks before it shows the classes', async () => {
  await open();
  expect(await page.locator('.fragile').count()).toBe(0);
  const guesses = page.getByRole('group', { name: 'Which class is most fragile?' });
  await guesses.getByRole('button', { name: '4' }).focus();
  await page.keyboard.press('Enter');
  await expect.poll(focused).toMatch(/^You said 4\. That .* \d (is the most fragile class|has the lowest mean p)/);
  const means = byLabel().map(({ mean }) => `${(100 * mean).toFixed(1)}%`);
  const cells = await page.locator('.fragile tbody tr').evaluateAll((all) => all.map((each) => each.children[1]!.textContent));
  expect(cells).toEqual(means);
  await page.getByRole('button', { name: 'Ask again' }).focus();
  await page.keyboard.press('Enter');
  await expect.poll(focused).toBe('0');
});

it('says whether the guess was right, and which classes do not differ significantly', () => {
  const of = (fragile: number[], ...means: number[]): Bias => ({
    ...{ noise: 'gaussian:0.3', sigma: 0.3, estimator: 'auto:100', by: 'label', compared: means.length, confidence: 0.99 },
    classes: means.map((mean, i) => ({ class: i, mean, ciLow: mean - 0.05, ciHigh: mean + 0.05, count: 50 })),
    all: { mean: 0.8, ciLow: 0.7, ciHigh: 0.9, count: 500 },
    largestDifference: null,
    fragile,
  });
  const clear = of([1], 0.9, 0.5, 0.7);
  expect(verdict(clear, 1)).toBe('That is right.');
  expect(verdict(clear, 0)).toBe('That is wrong: its mean p is 90.0%.');
  expect(verdict(clear, 3)).toBe('p could not be computed for this class.');
  expect(finding(clear, String)).toBe('1 is the most fragile class: its mean p is 50.0%.');
  const close = of([1, 0], 0.806, 0.8, 0.95);
  expect(verdict(close, 1)).toBe('That is probably right.');
  expect(verdict(close, 0)).toBe('That may be right: its mean p is 80.6%.');
  expect(finding(close, String)).toBe(
    '1 has the lowest mean p, 80.0%, but with 500 points the difference from 0 (80.6%) is not significant.',
  );
  const many = of([0, 1, 2, 3], 0.8, 0.81, 0.82, 0.83);
  expect(finding(many, String)).toMatch(/from 1 \(81\.0%\), 2 \(82\.0%\) and 1 more class is not significant\.$/);
});

it('shows the point of a card or a dot, and rings it', async () => {
  await open();
  const picture = () => page.locator('probust-scatter canvas').evaluate((each) => (each as HTMLCanvasElement).toDataURL());
  const before = await picture();
  const card = page.locator('#ranking button').first();
  await card.click();
  const least = ofP().reduce((a, b) => (a.p! < b.p! ? a : b));
  const detail = page.locator('.chosen');
  expect(await detail.getAttribute('data-index')).toBe(String(least.index));
  const share = (p: number) => `${(100 * p).toFixed(1)}%`;
  for (const text of [`predicts ${least.predicted}.`, `p = ${share(least.p!)}`, `is ${share(softmaxOf(least.index))}`]) {
    expect(await detail.innerText()).toContain(text);
  }
  expect(await detail.innerText()).toMatch(least.predicted === least.label ? 'the true class' : `true class is ${least.label}`);
  await expect.poll(() => detail.evaluate((each) => each.getBoundingClientRect().bottom)).toBeLessThanOrEqual(900);
  expect(await card.getAttribute('aria-pressed')).toBe('true');
  const ringed = await picture();
  expect(ringed).not.toBe(before);
  await page.getByRole('button', { name: 'Close' }).click();
  await expect.poll(picture).toBe(before);
  const { x, y } = await dotOf(least.index);
  await page.mouse.click(x + 2, y);
  await expect.poll(picture).toBe(ringed);
});

it('dims results of other settings while new ones are computed', async () => {
  await open();
  const dim = () => page.locator('.plot').evaluate((each) => Number(getComputedStyle(each).opacity));
  expect(await dim()).toBe(1);
  await page.getByRole('button', { name: '2000' }).click();
  await page.getByText('Computing new results …').waitFor();
  await expect.poll(dim).toBe(0.5);
  expect(await page.locator('.lab').getAttribute('aria-busy')).toBe('true');
  await page.locator('progress[value]').waitFor({ timeout: 20_000 });
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Stopped: these results are for other settings.').waitFor();
  expect(await dim()).toBe(0.5);
  await page.getByRole('button', { name: '500' }).click();
  await page.locator('.lab[data-points="500"][aria-busy=false]').waitFor({ timeout: 60_000 });
  await expect.poll(dim).toBe(1);
  expect(await page.getByText('500 generated digits; p by auto with Gaussian noise of sigma 0.3').count()).toBe(1);
});

it('scrolls by touch, except on a corner', async () => {
  await page.close();
  page = await browser.newPage({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  problems = problemsOf(page);
  await open();
  const before = await brush();
  const scrolled = () => page.evaluate(() => scrollY);
  const corner = (await page.getByRole('application', { name: /^Upper right corner/ }).boundingBox())!;
  await swipe([corner.x + 10, corner.y + 10], -60);
  await expect.poll(async () => (await brush())[1]).toBeGreaterThan(before[1]! + 0.1);
  expect(await scrolled()).toBe(0);
  // A tap chooses a dot.
  const { index } = ofP().reduce((a, b) => (a.p! < b.p! ? a : b));
  const dot = await dotOf(index);
  await page.touchscreen.tap(dot.x, dot.y);
  await page.locator(`.chosen[data-index="${index}"]`).waitFor();
  const [selection, top] = [await brush(), await scrolled()];
  const { x, y, height } = (await page.locator('probust-scatter').boundingBox())!;
  await swipe([x + 150, y + 0.5 * height], -200);
  await expect.poll(scrolled).toBeGreaterThan(top + 100);
  expect(await brush()).toEqual(selection);
});

it('says which classes take over', async () => {
  await open('brush=0,0,0,0');
  await page.getByText('Select points first: then you can save them, or see which classes take over.').waitFor();
  expect(await page.getByRole('button', { name: 'which classes take over?' }).isDisabled()).toBe(true);
  await open('brush=0,0.6,0.9,1');
  const marks = page.locator('.thumbnails li', { hasText: '→' });
  expect(await marks.count()).toBe(0);
  await page.getByRole('button', { name: 'which classes take over?' }).click();
  await expect.poll(() => marks.count(), { timeout: 20_000 }).toBe(Math.min(24, await selected()));
});

it('has the numbers of the package for Iris, and names its classes', async () => {
  const { iris } = tables;
  const model = await probust.loadModel(readFileSync(join(root, 'web/models/iris-network.onnx')));
  const x = Float32Array.from(iris.rows.flatMap(({ values }) => encoded(iris, inputsOf(iris, 'network'), values)));
  const wanted = await model.estimate(x, { noise: 'gaussian:0.3', estimators: 'auto', seed: 0 });
  await open('dataSource=iris&brush=0,1,0,1&guessed=1', 150);
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'JSONL' }).click()]);
  const written = readFileSync((await download.path())!, 'utf8').trim().split('\n').map((line) => JSON.parse(line) as Row); // prettier-ignore
  expect(written.length).toBe(150);
  written.forEach(({ p }, i) => expect(p).toBeCloseTo(wanted[i]!.p!, 6));
  const least = wanted.reduce((a, b) => (a.p! < b.p! ? a : b));
  const first = page.locator('.thumbnails li').first();
  expect(await first.innerText()).toContain(iris.rows[least.index]!.values.join(' · '));
  expect(await first.innerText()).toContain(iris.classes[least.predicted]!);
  expect(await page.getByText('You said versicolor.').count()).toBe(1);
  expect(await page.locator('.fragile tbody').innerText()).toMatch(/virginica/);
  const cards = await page.locator('#ranking li').allInnerTexts();
  expect(cards.length).toBe(12);
  expect(cards.every((text) => /^Point \d+\s.*\d cm\s/.test(text))).toBe(true);
  await page.getByRole('button', { name: 'which classes take over?' }).click();
  await expect
    .poll(() => page.locator('.thumbnails li', { hasText: /→ (setosa|versicolor|virginica)/ }).count())
    .toBeGreaterThan(3);
  await page.getByRole('button', { name: 'generated digits' }).click();
  await page.locator('probust-thumbnail').first().waitFor({ timeout: 60_000 });
});

it('opens a run, and reports what is wrong with other files', async () => {
  await open();
  const file = (name: string, text: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
  const input = page.locator('input[data-role=first]');
  await input.setInputFiles(file('rows.jsonl', writeRows(rows.filter(({ index }) => index < 50))));
  await page.locator('.lab[data-points="50"]').waitFor();
  expect(await page.getByText('50 points of rows.jsonl: p by auto with Gaussian noise of sigma 0.3').count()).toBe(1);
  await page.getByRole('button', { name: 'everything' }).click();
  await expect.poll(selected).toBe(50);
  await input.setInputFiles(file('letter.csv', 'Dear reader'));
  await expect.poll(() => page.locator('[role=alert]').textContent()).toMatch(/letter\.csv/);
});

it('opens the SQLite file of a run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'probust-'));
  const [run, exported] = ['run.sqlite', 'rows.jsonl'].map((name) => join(folder, name));
  const data = ['demos/digits/digits.onnx', 'demos/digits/points.npz'].map((name) => join(root, name));
  execFileSync(program, ['estimate', ...data, '--limit', '30', '--sigma', '0.3', '--estimator', 'auto,softmax', '-o', run!]);
  execFileSync(program, ['export', run!, '-o', exported!]);
  await open();
  const input = page.locator('input[data-role=first]');
  await input.setInputFiles(run!);
  await page.locator('.lab[data-points="30"]').waitFor();
  await page.getByRole('button', { name: 'everything' }).click();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'JSONL' }).click()]);
  const wanted = (await readRows(new Blob([readFileSync(exported!)]))).filter(({ estimator }) => estimator.startsWith('auto'));
  expect(wanted.length).toBe(30);
  expect(readFileSync((await download.path())!, 'utf8')).toBe(writeRows(wanted));

  const half = readFileSync(run!);
  half[18] = 2;
  await input.setInputFiles({ name: 'half.sqlite', mimeType: 'application/octet-stream', buffer: half });
  await expect.poll(() => page.locator('[role=alert]').textContent()).toMatch(/half\.sqlite is incomplete/);
  const broken = readFileSync(run!).fill(0, 100);
  await input.setInputFiles({ name: 'broken.sqlite', mimeType: 'application/octet-stream', buffer: broken });
  await expect.poll(() => page.locator('[role=alert]').textContent()).toMatch(/broken\.sqlite is not a probust run/);
  rmSync(folder, { recursive: true });
});

it('opens points and networks from files, and compares a second network', async () => {
  await open('guessed=3');
  const bytes = readFileSync(join(root, 'demos/digits/digits.onnx'));
  const network = { name: 'second.onnx', mimeType: 'application/octet-stream', buffer: bytes };
  await page.locator('input[data-role=second]').setInputFiles(network);
  await expect
    .poll(() => page.locator('[role=alert]').textContent(), { timeout: 20_000 })
    .toMatch(/numbers|shape|elements|784|256/);
  await page
    .locator('input[data-role=second]')
    .setInputFiles({ ...network, buffer: readFileSync(join(root, 'web/models/digits.onnx')) });
  await page.getByText('Dashed: second.onnx.').waitFor({ timeout: 20_000 });
  expect(await page.locator('#distribution svg.chart path').count()).toBe(20);
  const four = page.getByRole('group', { name: 'Class to mark' }).getByRole('button', { name: '4' });
  for (const bands of [1, 0]) {
    await four.click();
    await expect.poll(() => page.locator('#distribution .band').count()).toBe(bands);
  }
  expect(await page.locator('[role=alert]').count()).toBe(0);

  // Eight points of 16 x 16 pixels for the other network.
  const line = (i: number) => [...Array.from({ length: 256 }, (_, k) => ((i * k) % 9) / 9), i % 3].join(',');
  await page.getByRole('button', { name: 'close the files' }).click();
  await page.getByText('Dashed: second.onnx.').waitFor({ state: 'detached', timeout: 20_000 });
  await page.locator('input[data-role=first]').setInputFiles({ ...network, name: 'mine.onnx' });
  await page.locator('[role=alert]').waitFor();
  const csv = Array.from({ length: 8 }, (_, i) => line(i)).join('\n') + '\n';
  await page
    .locator('input[data-role=first]')
    .setInputFiles({ name: 'points.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
  await page.locator('.lab[data-points="8"]').waitFor({ timeout: 20_000 });
  expect(await page.getByText('8 points of points.csv; p by auto with Gaussian noise of sigma 0.3').count()).toBe(1);
});

it('warns if the points of a file do not match the network', async () => {
  await open();
  expect(await page.locator('.warning').count()).toBe(0);
  const { x, labels } = await probust.data.digits({ count: 40, seed: 3 });
  const size = x.length / 40;
  const bytes = (i: number) => Array.from(x.slice(size * i, size * (i + 1)), (value) => Math.round(255 * value));
  const csv = Array.from({ length: 40 }, (_, i) => [...bytes(i), labels[i]].join(',')).join('\n') + '\n';
  await page
    .locator('input[data-role=first]')
    .setInputFiles({ name: 'bytes.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
  await page.locator('.lab[data-points="40"]').waitFor({ timeout: 20_000 });
  expect(await page.locator('.warning').allTextContents()).toContainEqual(expect.stringMatching(/std 255|scale/));
});

it.each([
  ['light', 1280],
  ['dark', 360],
] as const)('axe finds no serious violation: %s, %i px', async (colorScheme, width) => {
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height: 800 });
  await open('guessed=3');
  await page.locator('#ranking canvas').first().waitFor();
  expect(await seriousViolations(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
});

/** Milliseconds between frames while estimation runs, from the first report of progress to the result. */
const framesOfWork = () =>
  page.evaluate(async () => {
    const root = document.querySelector('probust-explorer')!.shadowRoot!;
    const seen = (selector: string) => root.querySelector('probust-dataset-lab')?.shadowRoot?.querySelector(selector);
    const times: number[] = [];
    let last = 0;
    while (!seen('.lab[data-points="1000"]')) {
      const now = await new Promise(requestAnimationFrame);
      if (seen('progress') && last > 0) times.push(now - last);
      last = now;
    }
    return times.sort((a, b) => a - b);
  });

it('estimates 1,000 digits in the background, and brushes them at the rate of frames', async () => {
  const begun = Date.now();
  await page.goto(`${server.url}/index.html#lab=dataset&dataCount=1000`);
  const working = await framesOfWork();
  const seconds = (Date.now() - begun) / 1000;
  const frames = await page.evaluate(async () => {
    const explorer = document.querySelector('probust-explorer') as unknown as { state: object };
    const times: number[] = [];
    for (let i = 0, last = performance.now(); i < 60; ++i) {
      explorer.state = { brush: [0, 0.3 + i / 100, 0.5 - i / 150, 1] };
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      times.push(now - last);
      last = now;
    }
    return times.sort((a, b) => a - b);
  });
  const said = (times: number[]) => `median ${times[times.length >> 1]!.toFixed(1)} ms, longest ${times.at(-1)!.toFixed(1)} ms`;
  console.log(`1,000 digits in ${seconds.toFixed(1)} s; frames meanwhile: ${said(working)}; while brushing: ${said(frames)}`);
  expect(seconds).toBeLessThan(40);
  expect(working[working.length >> 1]).toBeLessThan(50);
  expect(frames[30]).toBeLessThan(50);
});
