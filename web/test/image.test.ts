// SPDX-License-Identifier: MIT
// The image lab in a real browser, and its numbers compared with those of the native command.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { floats, onnx, port, type NodeText } from '../../wasm/split/onnx.js';
import { dist, launch, problemsOf, root, seriousViolations, serve, type Server } from './server.js';

const shared = resolve(root, process.env.PROBUST_SHARED ?? '../shared');
const native = resolve(root, 'web', process.env.PROBUST_NATIVE ?? '../build/release/bin/probust');
const mnist = join(shared, 'models/mnistfc_256x2.onnx');
const missing = [mnist, native].filter((file) => !existsSync(file));
if (missing.length) console.warn(`not compared with the native command: there is no ${missing.join(', no ')}`);

let browser: Browser;
let server: Server;
let page: Page;
let problems: string[];
const folder = mkdtempSync(join(tmpdir(), 'probust-image-'));

beforeAll(async () => {
  [browser, server] = await Promise.all([launch(), serve(dist)]);
});
afterAll(async () => {
  await browser?.close();
  server?.close();
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  page = await browser.newPage({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' });
  problems = problemsOf(page);
});
afterEach(async () => {
  await page.close();
  // The page preloads the other lab's script, which is not used here; and the machine may have no WebGPU.
  expect(problems.filter((each) => !/preloaded using link preload|No available adapters/.test(each))).toEqual([]);
});

/** Waits until everything on screen belongs to the current state. Returns p. */
async function settled(): Promise<number> {
  await page.waitForTimeout(80);
  await page.waitForFunction(() => {
    const lab = document.querySelector('probust-explorer')!.shadowRoot!.querySelector('probust-image-lab')?.shadowRoot;
    return lab?.querySelector('.estimators') && lab.querySelector('#curves svg') && !lab.querySelector('.stale');
  });
  return p();
}

const p = async () => Number(await page.locator('[data-p]').getAttribute('data-p'));
const valueOf = async (form: string) => Number(await page.locator(`[data-form="${form}"]`).getAttribute('data-value'));

async function open(hash = ''): Promise<number> {
  // A change of the hash alone does not load the page again.
  await page.goto('about:blank');
  await page.goto(`${server.url}/index.html#more=1&lab=image${hash}`);
  return settled();
}

const openModel = (file: string | { name: string; mimeType: string; buffer: Buffer }) =>
  page.locator('input[accept=".onnx"]').setInputFiles(file);

const bytesFile = (name: string, bytes: Uint8Array) => ({ name, mimeType: '', buffer: Buffer.from(bytes) });

const state = <T>(key: string): Promise<T> =>
  page.evaluate(
    (name) => (document.querySelector('probust-explorer') as unknown as { state: Record<string, unknown> }).state[name],
    key,
  ) as Promise<T>;

describe('a digit', () => {
  it('is shown at once, with p, its interval, and the noisy samples that were counted', async () => {
    const found = await open();
    expect(found).toBeGreaterThan(0.5);
    expect(found).toBeLessThan(1);
    expect(await page.locator('[part=number]').textContent()).toMatch(
      /counted over 1,000 noisy samples, 95% interval: [\d.]+% to [\d.]+%/,
    );
    const kept = await page.locator('[data-answer]').getAttribute('data-answer');
    const shares = await page
      .locator('.bar-row')
      .evaluateAll((rows) => rows.map(({ dataset }) => ({ of: dataset.of, share: Number(dataset.share) })));
    expect(shares.find(({ of }) => of === kept)!.share).toBe(found);
    expect(shares.length).toBeGreaterThan(2);
    expect(await page.locator('.copies .copy').count()).toBe(16);
  });

  it('has a smaller p for a larger sigma', async () => {
    const found = [await open('&imageSigma=0.15')];
    await page.locator('.sigma input[type=range]').focus();
    for (let step = 0; step < 3; ++step) {
      for (let i = 0; i < 15; ++i) await page.keyboard.press('ArrowRight');
      found.push(await settled());
    }
    for (let i = 1; i < found.length; ++i) expect(found[i]).toBeLessThan(found[i - 1]!);
  });

  it('is drawn by mouse and by keys, and is restored from its URL', async () => {
    await open('&imageDigit=1');
    await page.getByRole('button', { name: 'clear' }).click();
    const box = (await page.locator('probust-paper').boundingBox())!;
    const at = (x: number, y: number): [number, number] => [box.x + x * box.width, box.y + y * box.height];
    await page.mouse.move(...at(0.28, 0.25));
    await page.mouse.down();
    for (const place of [at(0.72, 0.25), at(0.45, 0.82)]) await page.mouse.move(...place, { steps: 6 });
    await page.mouse.up();
    await settled();
    expect(await page.locator('[data-answer]').getAttribute('data-answer')).toBe('7');
    const drawn = await state<string>('imagePixels');
    const sheet = page.getByRole('application');
    for (const key of [' ', 'ArrowDown', 'ArrowDown', 'ArrowRight', ' ']) await sheet.press(key);
    expect(await state<string>('imagePixels')).not.toBe(drawn);
    const found = await settled();
    await page.waitForFunction(() => location.hash.includes('imagePixels=1x28x28'));
    const address = await page.evaluate(() => location.href);
    await page.goto('about:blank');
    await page.goto(address);
    expect(await settled()).toBe(found);
  });

  it('is drawn by touch', async () => {
    const phone = await browser.newContext({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    const touched = await phone.newPage();
    await touched.goto(`${server.url}/index.html#lab=image`);
    await touched.waitForSelector('[data-p]');
    const box = (await touched.locator('probust-paper').boundingBox())!;
    await touched.touchscreen.tap(box.x + 0.2 * box.width, box.y + 0.2 * box.height);
    await touched.waitForFunction(() => location.hash.includes('imagePixels'));
    await phone.close();
  });

  it('has a nearest boundary, and shows the pixels that lead to a rival', async () => {
    await open();
    const distance = Number(await page.locator('[data-distance]').getAttribute('data-distance'));
    expect(distance).toBeGreaterThan(0.01);
    const rival = page.locator('button.bar-row').nth(1);
    const of = await rival.getAttribute('data-of');
    await rival.click();
    await page.waitForSelector(`#boundary text:has-text("towards ${of}")`);
    expect(await rival.getAttribute('aria-pressed')).toBe('true');
  });

  it('is clipped on request, and the list says which estimators ignore that', async () => {
    const found = await open();
    await page.getByRole('button', { name: 'clip samples' }).click();
    expect(await settled()).not.toBe(found);
    expect(await page.locator('[data-form=taylor]').textContent()).toContain('clipping ignored');
  });
});

/** A grey image as a BMP file: 24 bits per pixel, from the bottom row up. */
function bmp(pixels: Uint8Array, side: number): Buffer {
  const file = Buffer.alloc(54 + 3 * side * side);
  file.write('BM');
  file.writeUInt32LE(file.length, 2);
  file.writeUInt32LE(54, 10);
  file.writeUInt32LE(40, 14);
  file.writeInt32LE(side, 18);
  file.writeInt32LE(side, 22);
  file.writeUInt16LE(1, 26);
  file.writeUInt16LE(24, 28);
  for (let row = 0; row < side; ++row) {
    for (let column = 0; column < side; ++column) {
      file.fill(
        pixels[row * side + column]!,
        54 + 3 * ((side - 1 - row) * side + column),
        57 + 3 * ((side - 1 - row) * side + column),
      );
    }
  }
  return file;
}

/** Numbers as a .npy file. */
function npy(values: Float32Array, shape: number[]): Buffer {
  const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.join(', ')},), }`.padEnd(117) + '\n';
  const head = Buffer.from('\x93NUMPY\x01\x00', 'latin1');
  const length = Buffer.alloc(2);
  length.writeUInt16LE(header.length);
  return Buffer.concat([head, length, Buffer.from(header), Buffer.from(values.buffer)]);
}

interface NativeRow {
  estimator: string;
  predicted: number;
  p: number;
}

function nativeRows(model: string, values: Float32Array, sigma: number, forms: string[], more: string[] = []): NativeRow[] {
  const data = join(folder, 'x.npy');
  writeFileSync(data, npy(values, [1, values.length]));
  const options = [
    '--noise',
    `gaussian:${sigma}`,
    '--estimator',
    forms.join(','),
    '--seed',
    '3',
    '--threads',
    '1',
    '--format',
    'jsonl',
    '--quiet',
  ];
  const lines = execFileSync(native, ['estimate', model, data, ...options, ...more], { encoding: 'utf8' });
  return lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as NativeRow);
}

describe.skipIf(missing.length > 0)('the native command', () => {
  const forms = ['mc:1000', 'taylor', 'mmse:20'];

  async function expectNative(values: Float32Array, sigma: number, more: string[] = []): Promise<void> {
    const [counted, taylor, mmse] = nativeRows(mnist, values, sigma, forms, more);
    await settled();
    expect(await page.locator('[data-answer]').getAttribute('data-answer')).toBe(String(counted!.predicted));
    // In both, the same number of samples keep the prediction.
    expect(Math.round(1000 * (await p()))).toBe(Math.round(1000 * counted!.p));
    expect(Math.abs((await valueOf('taylor')) - taylor!.p)).toBeLessThan(1e-6);
    expect(Math.abs((await valueOf('mmse:20')) - mmse!.p)).toBeLessThan(2e-6);
  }

  it('gives the same p for an image file, with and without scaling', async () => {
    const images = gunzipSync(readFileSync(join(shared, 'data/mnist-test-open-images-idx3-ubyte.gz')));
    const pixels = images.subarray(16 + 784 * 8, 16 + 784 * 9);
    const values = Float32Array.from(pixels, (byte) => byte / 255);
    await open('&seed=3&imageSigma=0.25');
    await openModel(mnist);
    await page.waitForSelector('.chip.named:has-text("mnistfc_256x2.onnx")');
    await page
      .locator('input[accept="image/*"]')
      .setInputFiles({ name: 'digit.bmp', mimeType: 'image/bmp', buffer: bmp(pixels, 28) });
    await page.waitForFunction(() => location.hash.includes('imagePixels'));
    await expectNative(values, 0.25);
    expect(await page.locator('#model').textContent()).toContain('28 × 28 pixels, grey');
    const before = await p();
    expect(before).toBeGreaterThan(0.2);
    expect(before).toBeLessThan(0.999);
    await page.getByLabel('Input scaling').selectOption({ label: 'MNIST' });
    await page.waitForFunction(() => location.hash.includes('imageStd'));
    await expectNative(values, 0.25, ['--mean', '0.1307', '--std', '0.3081']);
    expect(await p()).not.toBe(before);
  });

  it('gives the same p for a generated digit', async () => {
    await open('&seed=3&imageDigit=3&imageSigma=0.4');
    await openModel(mnist);
    await page.waitForSelector('.chip.named:has-text("mnistfc_256x2.onnx")');
    const { createProbust } = await import('probust');
    const probust = await createProbust();
    const { x } = await probust.data.digits({ count: 10, seed: 1001 });
    probust.dispose();
    await expectNative(x.slice(3 * 784, 4 * 784), 0.4);
  });
});

/** A linear classifier of images, whose product is computed by `op`. */
function linear(op: NodeText): Uint8Array {
  let seed = 1;
  const next = () => ((seed = (seed * 48271) % 2147483647) / 2147483647 - 0.5) * 0.4;
  return onnx({
    inputs: [port('x', ['N', 1, 28, 28])],
    outputs: [port('y', ['N', 10])],
    constants: [floats('W', [784, 10], Array.from({ length: 7840 }, next))],
    nodes: [{ op: 'Flatten', inputs: ['x'], output: 'flat' }, op],
  });
}

describe('engines', () => {
  it('uses ONNX Runtime Web if the own engine lacks an operator, and says what is not available', async () => {
    await open();
    await openModel(bytesFile('own.onnx', linear({ op: 'MatMul', inputs: ['flat', 'W'], output: 'y' })));
    await page.waitForSelector('.chip.named:has-text("own.onnx")');
    const [own, taylor] = [await settled(), await valueOf('taylor')];
    expect(await page.locator('[data-engine]').getAttribute('data-engine')).toBe('probust');
    // The model is linear, so taylor is exact.
    expect(Math.abs(taylor - own)).toBeLessThan(0.06);

    const copies = await state<number>('imageCopies');
    await openModel(
      bytesFile('fused.onnx', linear({ op: 'FusedMatMul', inputs: ['flat', 'W'], output: 'y', domain: 'com.microsoft' })),
    );
    await page.waitForSelector('[data-engine^="onnxruntime-web"]', { timeout: 60_000 });
    await page.locator('.count select').selectOption(String(copies));
    expect(Math.abs((await settled()) - own) * copies).toBeLessThanOrEqual(2);
    expect(await page.locator('.engine').textContent()).toMatch(/FusedMatMul.*no\s+gradients/s);
    expect(await page.locator('[data-form=taylor]').textContent()).toMatch(/not valid.*gradients/s);
    expect(await page.locator('[data-form="probit:50"]').textContent()).toMatch(/± [\d.]+%/);
  });

  it('accepts colour images, channels last', async () => {
    const colour = onnx({
      inputs: [port('x', ['N', 12, 12, 3])],
      outputs: [port('y', ['N', 4])],
      constants: [
        floats(
          'W',
          [432, 4],
          Array.from({ length: 1728 }, (_, i) => Math.sin(i * i)),
        ),
      ],
      nodes: [
        { op: 'Flatten', inputs: ['x'], output: 'flat' },
        { op: 'MatMul', inputs: ['flat', 'W'], output: 'y' },
      ],
    });
    await open();
    await openModel(bytesFile('colour.onnx', colour));
    await page.waitForSelector('#model:has-text("12 × 12 pixels, red, green and blue")');
    const found = await settled();
    // A linear classifier again: the count differs from taylor only by chance.
    expect(Math.abs((await valueOf('taylor')) - found)).toBeLessThan(0.06);
    expect(await page.locator('[role=alert]').count()).toBe(0);
  });

  it.each([
    [
      'an operator that no engine has',
      'odd.onnx',
      linear({ op: 'Nonsense', inputs: ['flat', 'W'], output: 'y' }),
      /Neither engine can run this model.*Nonsense/,
    ],
    ['a text file', 'letter.onnx', Buffer.from('Dear reader, this is a letter.'), /cannot be read as an ONNX model/],
    [
      'half a model',
      'half.onnx',
      linear({ op: 'MatMul', inputs: ['flat', 'W'], output: 'y' }).subarray(0, 20_000),
      /cannot be read as an ONNX model/,
    ],
    ['an empty file', 'empty.onnx', new Uint8Array(), /cannot be read as an ONNX model/],
  ])('rejects %s in one line, and keeps the current network', async (_, name, bytes, message) => {
    const before = await open();
    await openModel(bytesFile(name, bytes));
    await page.waitForSelector('[role=alert]', { timeout: 60_000 });
    const said = (await page.locator('[role=alert]').textContent())!;
    expect(said).toMatch(message);
    expect(said).not.toMatch(/undefined|\[object|\n|\.\.$/);
    expect(await settled()).toBe(before);
    await page.getByRole('button', { name: 'redraw' }).click();
    await settled();
    problems.length = 0; // ONNX Runtime also writes errors to the console.
  });

  it('reports that the input is not an image', async () => {
    const table = onnx({
      inputs: [port('x', ['N', 5])],
      outputs: [port('y', ['N', 3])],
      constants: [
        floats(
          'W',
          [5, 3],
          Array.from({ length: 15 }, (_, i) => i - 7),
        ),
      ],
      nodes: [{ op: 'MatMul', inputs: ['x', 'W'], output: 'y' }],
    });
    await open();
    await openModel(bytesFile('table.onnx', table));
    await expect.poll(() => page.locator('[role=alert]').textContent()).toMatch(/has the shape 5, which is not that of an image/);
  });

  it('says that a link does not contain the model', async () => {
    await page.goto(`${server.url}/index.html#lab=image&imageModel=own`);
    await expect.poll(() => page.locator('[role=alert]').textContent()).toMatch(/Drop that ONNX file here/);
    await page.getByRole('button', { name: 'digits network' }).click();
    expect(await settled()).toBeGreaterThan(0.5);
    expect(await page.locator('[role=alert]').count()).toBe(0);
  });
});

describe('accessibility', () => {
  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
    ['dark', 360],
  ] as const)('axe finds no serious violation: %s, %i px', async (colorScheme, width) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    await open();
    await page.waitForTimeout(400);
    expect(await seriousViolations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  });

  it('speaks p after a pause without changes', async () => {
    const found = await open();
    await expect
      .poll(() => page.locator('probust-image-lab [role=status]').textContent())
      .toMatch(new RegExp(`^${(100 * found).toFixed(1)}% of 1000 noisy samples keep the prediction \\d at sigma 0.3\\.`));
  });
});
