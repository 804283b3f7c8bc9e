// SPDX-License-Identifier: MIT
// Slow or missing connections: tests the page before any script runs, its use without a network, and the user's models after a
// reload.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Browser } from 'playwright-core';
import { dist, launch, problemsOf, root, serve, type Server } from './server.js';

let browser: Browser;
let server: Server;

beforeAll(async () => {
  [browser, server] = await Promise.all([launch(), serve(dist)]);
});
afterAll(async () => {
  await browser?.close();
  server?.close();
});

it('shows a picture and its number before any script runs', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  let arrive = () => {};
  const late = new Promise<void>((resolve) => (arrive = resolve));
  await page.route('**/*.js', async (route) => (await late, route.continue()));
  await page.goto(`${server.url}/index.html`, { waitUntil: 'commit' });
  const image = page.locator('.first-picture img');
  await image.waitFor();
  await expect.poll(() => image.evaluate((each) => (each as HTMLImageElement).naturalWidth)).toBeGreaterThan(0);
  const stated = await page.locator('.first-picture b').textContent();
  arrive();
  await page.waitForSelector('[data-p]');
  expect(await page.locator('[data-testid=p]').textContent()).toBe(stated);
  expect(await image.isVisible()).toBe(false);
  await page.close();
});

it('works without a network after the first visit', async () => {
  const context = await browser.newContext({ serviceWorkers: 'allow', viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(`${server.url}/index.html`);
  const kept = () => page.evaluate(async () => (await (await caches.open('probust')).keys()).map(({ url }) => url));
  const { pages, files } = JSON.parse(readFileSync(join(dist, 'offline.json'), 'utf8')) as Record<'pages' | 'files', string[]>;
  await expect.poll(async () => (await kept()).length, { timeout: 60_000 }).toBe(pages.length + files.length);
  expect((await kept()).filter((url) => /ort/.test(url))).toEqual([]);

  await context.setOffline(true);
  const problems = problemsOf(page);
  await page.goto(`${server.url}/index.html#model=six&sigma=0.3`);
  await page.waitForSelector('[data-p]');
  await page.getByRole('tab', { name: 'Image lab' }).click();
  await page.locator('probust-image-lab [data-p]').waitFor();
  await page.goto(`${server.url}/lessons.html#lesson=5&step=2`);
  await page.locator('probust-plane-picture').waitFor();
  expect(problems).toEqual([]);
  await context.close();
});

it('keeps an own model across reloads', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(`${server.url}/index.html#lab=image`);
  await page.locator('probust-image-lab [data-p]').waitFor();
  const buffer = readFileSync(join(root, 'demos/digits/digits.onnx'));
  await page.locator('input[accept=".onnx"]').setInputFiles({ name: 'mine.onnx', mimeType: 'application/octet-stream', buffer });
  await page.waitForSelector('.chip.named:has-text("mine.onnx")');
  await expect.poll(() => page.url()).toContain('imageModel=own');
  await page.reload();
  await page.waitForSelector('.chip.named:has-text("mine.onnx")');
  await page.locator('probust-image-lab [data-p]').waitFor();
  expect(await page.locator('probust-explorer [role=alert]').count()).toBe(0);
  await page.close();
});
