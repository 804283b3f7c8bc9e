// SPDX-License-Identifier: MIT
// The examples of COMPONENTS.md that element-package.test.ts does not run: frameworks, the explorer, and server-side rendering.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync, cpSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { compile as compileSvelte } from 'svelte/compiler';
import { compileScript, parse } from 'vue/compiler-sfc';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digits, load, point, root, run, staged } from './support.js';
import { launch, serve, strictPolicy, type Browser } from './server.js';

const modules = join(root, 'wasm/node_modules');
const work = mkdtempSync(join(tmpdir(), 'probust-frameworks-'));
const manual = readFileSync(join(root, 'wasm/COMPONENTS.md'), 'utf8');
const example = (language: string) => new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(manual)![1]!;
const frame = '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title><div id="root"></div>';
const withMain = `${frame}<script type="module" src="./main.js"></script>`;
let browser: Browser;
/** A script that defines the rows of six points at two scales. */
let rows: string;

beforeAll(async () => {
  browser = await launch();
  const probust = await (await load()).createProbust();
  const model = await probust.loadModel(digits);
  const x = Array.from({ length: 6 }, (_, i) => Array.from(point(i))).flat();
  const noise = ['gaussian:0.1', 'gaussian:0.4'];
  rows = JSON.stringify(await model.estimate(x, { noise, estimators: 'mc:50', labels: [0, 1, 2, 0, 1, 2] }));
  probust.dispose();
});
afterAll(async () => {
  await browser?.close();
  rmSync(work, { recursive: true, force: true });
});

/** Creates a folder with the package, the modules `needed` and these files. */
function project(name: string, needed: readonly string[], files: Record<string, string>): string {
  const folder = join(work, name);
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  symlinkSync(staged, join(folder, 'node_modules/probust'));
  for (const each of needed) symlinkSync(join(modules, each), join(folder, 'node_modules', each));
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  cpSync(digits, join(folder, 'model.onnx'));
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
  return folder;
}

/** Bundles app.js as main.js, and puts it in a folder with the parts of the module. */
function bundle(folder: string): string {
  run(
    join(modules, '.bin/esbuild'),
    ['app.js', '--bundle', '--format=esm', '--target=es2022', '--outfile=main.js', '--log-level=error', '--conditions=browser'],
    folder,
  );
  for (const file of readdirSync(staged).filter((each) => /\.wasm$|^worker/.test(each))) {
    cpSync(join(staged, file), join(folder, file));
  }
  return folder;
}

/**
 * Opens the page of a folder under a strict policy, and returns the result of `look`. Errors of the page make the test fail.
 */
async function seen<T>(folder: string, look: (page: Page) => Promise<T>): Promise<T> {
  const server = await serve([folder], { 'content-security-policy': `${strictPolicy}; style-src 'self'` });
  const page = await browser.context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('response', (each) => each.ok() || problems.push(`${each.url()}: ${each.status()}`));
  try {
    await page.goto(`${server.url}/index.html`);
    const result = await look(page);
    expect(problems).toEqual([]);
    return result;
  } catch (error) {
    throw new Error([String(error), ...problems].join('\n'));
  } finally {
    await page.close();
    server.close();
  }
}

const textOf = (name: string) => async (page: Page) => {
  await page.locator(`${name} [aria-busy=false]`).waitFor({ timeout: 15_000 });
  return page.locator(name).evaluate((each) => each.shadowRoot!.textContent!);
};

it('work with Vue', async () => {
  const { descriptor } = parse(example('vue'));
  const isCustomElement = (tag: string) => tag.startsWith('probust-');
  const templateOptions = { compilerOptions: { isCustomElement } };
  const { content } = compileScript(descriptor, { id: 'example', inlineTemplate: true, templateOptions });
  const app = `import { createApp } from 'vue';
    import App from './Example.js';
    createApp(App, { rows: ${rows} }).mount('#root');`;
  const folder = project('vue', ['vue', '@vue'], { 'Example.js': content, 'app.js': app, 'index.html': withMain });
  expect(await seen(bundle(folder), textOf('probust-bias'))).toMatch(/mean p[\s\S]*6 points/);
});

it('work with Svelte', async () => {
  const { js } = compileSvelte(example('svelte'), { generate: 'client' });
  const app = `import { mount } from 'svelte';
    import App from './Example.js';
    mount(App, { target: document.querySelector('#root'), props: { rows: ${rows} } });`;
  const needed = ['svelte', 'esm-env', 'clsx'];
  const folder = project('svelte', needed, { 'Example.js': js.code, 'app.js': app, 'index.html': withMain });
  const choice = await seen(bundle(folder), async (page) => {
    const said = page.waitForEvent('console', (message) => message.args().length === 1);
    await page.locator('probust-gallery button').first().click({ timeout: 15_000 });
    expect(await page.locator('probust-gallery button').count()).toBe(8);
    return (await said).args()[0]!.evaluate((row: { p: number }) => row.p);
  });
  const all = (JSON.parse(rows) as { p: number; noise: string }[]).filter(({ noise }) => noise === 'gaussian:0.1');
  expect(choice).toBe(Math.min(...all.map(({ p }) => p)));
});

it('work with Observable', async () => {
  const points = Array.from({ length: 2 }, (_, i) => Array.from(point(i))).flat();
  const text = `const FileAttachment = (name) => ({ href: new URL(name, location.href).href });
    const display = (element) => document.body.append(element);
    const points = ${JSON.stringify(points)};
    ${example('observable').replace("'probust/element'", "'./node_modules/probust/element.mjs'")}`;
  const folder = project('observable', [], { 'main.js': text, 'index.html': withMain });
  expect(await seen(folder, textOf('probust-curve'))).toContain('mean over 2 points');
});

it('work as a widget of Jupyter', async () => {
  const script = /"""([\s\S]*)"""/.exec(example('python'))![1]!.replace('URL', './node_modules/probust');
  const text = `import widget from './widget.js';
    const listeners = new Set();
    const model = { get: () => (${rows}), on: (_, each) => listeners.add(each), off: (_, each) => listeners.delete(each) };
    const end = widget.render({ model, el: document.body });
    if (listeners.size !== 1) throw new Error('does not listen');
    end();
    if (listeners.size !== 0) throw new Error('still listens');`;
  const folder = project('widget', [], { 'widget.js': script, 'main.js': text, 'index.html': withMain });
  expect(await seen(folder, textOf('probust-curve'))).toContain('mean over 6 points, mc:50');
});

it('are empty in node', () => {
  const text = `import * as element from 'probust/element';
    import { useSecondEngine } from 'probust/explorer';
    import { takeProbust } from 'probust/page';
    useSecondEngine(() => import('probust/ort'));
    takeProbust('patient').release();
    console.log(Object.keys(element).length);`;
  const folder = project('node', [], { 'main.js': text });
  expect(run('node', ['main.js'], folder).trim()).toBe('0');
});

const firstNumber = async (page: Page) => {
  const number = page.locator('probust-explorer [data-testid=p]');
  await expect.poll(() => number.textContent(), { timeout: 20_000 }).toMatch(/\d%/);
  return number.textContent();
};

it('show the explorer without a bundler', async () => {
  const folder = project('explorer', [], { 'index.html': example('explorer') });
  await seen(folder, firstNumber);
});

it.each(['vite', 'webpack'])('show the explorer with %s, without ONNX Runtime', async (tool) => {
  const main = "import 'probust/explorer';\nimport 'probust/element';\n";
  const page = example('explorer').replace('./node_modules/probust/explorer/explorer.mjs', './main.js');
  const folder = project(`explorer-${tool}`, [], { 'index.html': page, 'main.js': main });
  const out = join(folder, 'dist');
  if (tool === 'vite') run(join(modules, '.bin/vite'), ['build', '--logLevel', 'error'], folder);
  else {
    run(join(modules, '.bin/webpack'), ['--mode', 'production', '--entry', './main.js', '--output-path', out], folder);
    writeFileSync(join(out, 'index.html'), page);
  }
  await seen(out, firstNumber);
});
