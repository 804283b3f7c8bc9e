// SPDX-License-Identifier: MIT
// The components of probust/element, in Chromium under the strict policy.
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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

/** A CSV file of points; their labels are 0, 1 and 2 in turn. */
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
/** The component's text after it has finished. */
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
  expect(text).toContain(`${(100 * row!.p!).toFixed(1)}%`);
  expect(text).toContain(`The prediction ${row!.predicted} survives`);
  expect(text).toContain('400 passes');
  expect(problems).toEqual([]);
});

it('accepts a function as the noise', async () => {
  const script = `import { perturbation } from '/function.mjs';
    const number = document.createElement('probust-number');
    const noise = perturbation((x) => x, 1, 'nothing');
    Object.assign(number, { model: 'digits.onnx', x: ${JSON.stringify(Array.from(point(1)))}, noise, estimators: 'mc:100' });
    document.body.append(number);`;
  writeFileSync(join(work, 'own-noise.js'), script);
  await page.addScriptTag({ url: '/own-noise.js', type: 'module' });
  const text = await shown('probust-number');
  expect(text).toContain('100 passes');
  expect(text).toContain('transform:nothing');
  expect(problems).toEqual([]);
});

it('draws a curve with axes, a band, a readout and a table', async () => {
  await show('<probust-curve model="digits.onnx" points="points.csv" sigma="0.1..0.6:6" estimators="mc:200"></probust-curve>');
  expect(await shown('probust-curve')).toContain('mean over 12 points, mc:200, gaussian noise');
  const chart = page.locator('probust-curve svg[role=img]');
  expect(await chart.getAttribute('aria-label')).toMatch(/^p against sigma: [\d.]+% at 0.1, [\d.]+% at 0.6$/);
  expect(await chart.locator('text').allTextContents()).toEqual(
    expect.arrayContaining(['0%', '100%', '0.2', 'p', 'sigma, in units of the data']),
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
  expect(await shown('probust-bias')).toMatch(
    /zero.*one.*two.*(is the most fragile class|has the lowest mean p, but).*12 points/,
  );
  expect(await shown('probust-gallery')).toMatch(/Least robust.*Most robust/);
  expect(await page.locator('probust-gallery button').count()).toBe(6);
  // A row of the file has 256 numbers; the model's input is an image.
  expect(await page.locator('probust-gallery canvas').count()).toBe(6);
  expect(problems).toEqual([]);
});

it('accepts rows and points as properties', async () => {
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
  expect(await shown('probust-gallery')).toMatch(/Least robust 20.0% 0, should be 1 .*Most robust 90.0%/);
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
  expect(problems).toEqual([]);
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

it('shares one module and one model, and stops with the last component', async () => {
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

it('has at most one worker per core together with explorers', async () => {
  await page.addScriptTag({ url: '/explorer/explorer.mjs', type: 'module' });
  await show(`<probust-explorer embed></probust-explorer>
    <probust-curve model="digits.onnx" points="points.csv" sigma="0.1..0.4:3" estimators="mc:50"></probust-curve>
    <probust-number model="digits.onnx" points="points.csv" sigma="0.2" estimators="mc:50"></probust-number>`);
  for (const name of ['curve', 'number']) await page.locator(`probust-${name} [aria-busy=false]`).waitFor();
  await page.waitForSelector('#curves svg'); // the last computation of the explorer
  expect(page.workers().length).toBeLessThanOrEqual(await page.evaluate(() => navigator.hardwareConcurrency));
  expect([asked.get('/probust.wasm'), asked.get('/points.csv')]).toEqual([1, 1]);
  await show('');
  await expect.poll(() => page.workers().length).toBe(0);
  expect(problems).toEqual([]);
});

it('starts nothing for lists of equal content, and treats null like a removed attribute', async () => {
  await show('<probust-number model="digits.onnx" points="points.csv" sigma="0.3" estimators="mc:50"></probust-number>');
  await shown('probust-number');
  const seen = await page.evaluate(async () => {
    const number = document.querySelector('probust-number')!;
    const texts: unknown[] = [];
    number.addEventListener('probust-rows', ({ detail: { rows } }) => texts.push(rows[0]!.noise));
    const settled = () => new Promise((resolve) => number.addEventListener('probust-rows', resolve, { once: true }));
    const given = async (values: object) => (Object.assign(number, values), settled());
    await given({ sigma: [0.1], points: { x: new Float32Array(256), labels: [3] } });
    Object.assign(number, { sigma: [0.1], points: { x: new Float32Array(256), labels: [3] } });
    Object.assign(number, { rows: null, seed: null, noise: null });
    await given({ sigma: [0.2] });
    return texts;
  });
  expect(seen).toEqual(['gaussian:0.1', 'gaussian:0.2']);
  await page.locator('probust-number').evaluate((each) => each.removeAttribute('model'));
  await expect.poll(() => page.locator('probust-number [part=empty]').textContent()).toBe('No model or rows yet.');
  expect(problems).toEqual([]);
});

it('accepts options of the model, and a model from another instance of the library', async () => {
  await show('<probust-number points="points.csv" sigma="0.3" estimators="mc:50"></probust-number>');
  await page.addScriptTag({ url: '/probust.iife.js' });
  const texts = await page.evaluate(async () => {
    const number = document.querySelector('probust-number')!;
    const given = (values: object) =>
      new Promise<string>((resolve) => {
        const end = () => requestAnimationFrame(() => resolve(number.shadowRoot!.textContent!));
        for (const name of ['probust-rows', 'probust-error']) number.addEventListener(name, end, { once: true });
        Object.assign(number, values);
      });
    const wrong = await given({ model: 'digits.onnx', modelOptions: { shape: [3, 5] } });
    const copy = (globalThis as unknown as { probust: typeof import('../src/index.js') }).probust;
    const probust = await copy.createProbust();
    const right = await given({ model: await probust.loadModel('digits.onnx'), modelOptions: null });
    probust.dispose();
    return [wrong, right];
  });
  expect(texts[0]).toMatch(/shape/);
  expect(texts[1]).toMatch(/On average over 12 points/);
});

it('is accessible, and dark on screens only', async () => {
  await page.emulateMedia({ colorScheme: 'dark' });
  const common = 'model="digits.onnx" points="points.csv" sigma="0.1..0.4:3" estimators="mc:50"';
  const names = ['number', 'curve', 'estimators', 'bias', 'gallery'];
  await show(`<main>${names.map((name) => `<probust-${name} ${common}></probust-${name}>`).join('')}</main>`);
  for (const name of names) await page.locator(`probust-${name} [aria-busy=false]`).waitFor();
  const axe = readFileSync(join(root, 'wasm/node_modules/axe-core/axe.min.js'), 'utf8');
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof import('axe-core') }).axe.run('main');
    return violations.map(({ id, impact, nodes }) => `${impact} ${id} ${nodes[0]!.html}`);
  });
  expect(found).toEqual([]);
  const ink = () => page.locator('probust-number').evaluate((each) => getComputedStyle(each).color);
  expect(await ink()).toBe('rgb(233, 236, 239)');
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  expect(await ink()).toBe('rgb(27, 31, 36)');
});

it('needs no more memory after many changes', async () => {
  await show('<probust-number model="digits.onnx" points="points.csv" sigma="0.2" estimators="mc:50,taylor"></probust-number>');
  await shown('probust-number');
  const tools = await page.context().newCDPSession(page);
  const measured = async () => {
    await tools.send('HeapProfiler.collectGarbage');
    return (await tools.send('Runtime.getHeapUsage')).usedSize;
  };
  const drag = (from: number, to: number) =>
    page.evaluate(
      async ([first, last]) => {
        const number = document.querySelector('probust-number')!;
        for (let i = first!; i < last!; ++i) {
          const done = new Promise((resolve) => number.addEventListener('probust-rows', resolve, { once: true }));
          Object.assign(number, { points: null, x: Float32Array.from({ length: 256 }, (_, k) => ((i * k) % 7) / 7) });
          await done;
        }
      },
      [from, to],
    );
  await drag(0, 100);
  const before = await measured();
  await drag(100, 300);
  expect((await measured()) - before).toBeLessThan(10e6);
});

it('accepts the proxies of frameworks, and rows in the format of files', async () => {
  await show('<probust-bias></probust-bias><probust-number></probust-number><probust-curve></probust-curve>');
  await page.evaluate(() => {
    const proxied = <T extends object>(value: T): T =>
      new Proxy(value, {
        get: (target, name) => {
          const found = Reflect.get(target, name) as unknown;
          return typeof found === 'object' && found !== null && !ArrayBuffer.isView(found) ? proxied(found) : found;
        },
      });
    const rows = [0.1, 0.2].flatMap((sigma) =>
      [0.2, 0.9, 0.5].map((p, index) => ({
        ...{ index, label: index, predicted: index, target: index, noise: `gaussian:${sigma}`, sigma, estimator: 'mc:10' },
        ...{ p, p_fail: 1 - p, std_error: null, ci_low: null, ci_high: null, forwards: 10, backwards: 0, status: 'ok' },
        ...{ method: 'mc:10', note: null, classes: [p, 1 - p, 0] },
      })),
    );
    for (const name of ['bias', 'number', 'curve'])
      Object.assign(document.querySelector(`probust-${name}`)!, { rows: proxied(rows) });
  });
  expect(await shown('probust-bias')).toMatch(/Classes are labels\..*3 points/);
  expect(await shown('probust-number')).toContain('On average over 3 points');
  expect(await shown('probust-curve')).toContain('mean over 3 points, mc:10, gaussian noise');
  expect(problems).toEqual([]);
});

it.each([
  ['rows', 5, /^rows is not a list/],
  ['rows', [null], /^row 1 of rows is not an object/],
  ['rows', [{}], /^row 1 of rows has no predicted/],
  ['rows', [], /^No rows yet\.$/],
  ['model', 5, /^model is not an address, a file or a model/],
  ['model', 'http://[', /^"http:\/\/\[" is not an address for model/],
  ['model', '', /^No model or rows yet\.$/],
  ['points', 5, /^points is not a list of numbers/],
  ['points', [], /^points is not a list of numbers/],
  ['noise', 5, /^noise is not a string/],
  ['sigma', '0.1..0.5:100000000', /^sigma is .*count of 2 to 1000/],
  ['estimators', 5, /^estimators is not a string or a list/],
  ['classNames', 5, /^classNames is not a string or a list/],
] as const)('reports an invalid %s = %j', async (name, value, message) => {
  await show('<probust-number model="digits.onnx" points="points.csv" sigma="0.3" estimators="mc:20"></probust-number>');
  await shown('probust-number');
  await page.locator('probust-number').evaluate((each, given) => Object.assign(each, given), { [name]: value });
  const text = page.locator('probust-number [role=alert], probust-number [part=empty]');
  await expect.poll(() => text.textContent()).toMatch(message);
  expect(problems).toEqual([]);
});

it('starts new workers after theirs have failed', async () => {
  await show('<probust-number model="digits.onnx" points="points.csv" sigma="0.3" estimators="mc:20"></probust-number>');
  await shown('probust-number');
  const number = page.locator('probust-number');
  await Promise.all(page.workers().map((worker) => worker.evaluate(() => void setTimeout(() => { throw new Error('boom'); })))); // prettier-ignore
  await page.waitForTimeout(100);
  await number.evaluate((each) => each.setAttribute('sigma', '0.2'));
  await number.locator('[role=alert]').waitFor();
  await number.evaluate((each) => each.setAttribute('sigma', '0.1'));
  await number.locator('[role=alert]').waitFor({ state: 'detached' });
  expect(await shown('probust-number')).toContain('gaussian:0.1');
});

it('frees models and files without users', async () => {
  await show('<probust-number model="digits.onnx" points="points.csv" sigma="0.3" estimators="mc:20"></probust-number>');
  await shown('probust-number');
  const number = page.locator('probust-number');
  const given = async (query: string) => {
    await number.evaluate((each, text) => each.setAttribute('model', `digits.onnx${text}`), query);
    await page.waitForTimeout(30);
    await number.locator('[aria-busy=false]').waitFor();
  };
  await given('?1');
  await given('');
  expect(asked.get('/digits.onnx')).toBe(3); // twice for the first address
});

it('shows the requested number of points', async () => {
  await show('<probust-gallery model="digits.onnx" points="points.csv" sigma="0.3" estimators="mc:20"></probust-gallery>');
  await shown('probust-gallery');
  await page.locator('probust-gallery').evaluate((each) => each.setAttribute('count', '2'));
  await expect.poll(() => page.locator('probust-gallery button').count()).toBe(4);
});

it('reads and selects on a curve by keyboard and by touch', async () => {
  await show('<probust-curve model="digits.onnx" points="points.csv" sigma="0.1..0.6:6" estimators="mc:50"></probust-curve>');
  await shown('probust-curve');
  const chart = page.locator('probust-curve svg[role=img]');
  const selected = page.evaluate(
    () => new Promise((resolve) => document.addEventListener('probust-select', ({ detail }) => resolve(detail), { once: true })),
  );
  await chart.focus();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  expect(await selected).toMatchObject({ sigma: 0.6 });
  await chart.dispatchEvent('pointermove', { pointerType: 'touch', clientX: 100 });
  await chart.dispatchEvent('pointerleave', { pointerType: 'touch' });
  expect(await page.locator('probust-curve .readout').textContent()).toMatch(/^sigma/);
});

it('works as a dashboard', async () => {
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
