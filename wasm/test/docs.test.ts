// SPDX-License-Identifier: MIT
// Compiles or runs every code block of the README: TypeScript with a strict compiler, scripts in node, and pages and recipes
// for bundlers in a browser under a strict content security policy. Also runs the pages and scripts of docs/start/browser.md
// and docs/dashboard.md.
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digits, load, root, staged } from './support.js';
import { launch, resultOf, serve, strictPolicy, type Browser } from './server.js';

interface Block {
  language: string;
  text: string;
  heading: string;
}

function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  let heading = '';
  for (const [, title, language, text] of markdown.matchAll(/^#+ (.+)$|^```(\S+)[^\n]*\n([\s\S]*?)^```$/gm)) {
    if (title) heading = title;
    else blocks.push({ language: language!, text: text!, heading });
  }
  return blocks;
}

const blocks = blocksOf(readFileSync(join(root, 'wasm/README.md'), 'utf8'));
const written = (language: string) => blocks.filter((block) => block.language === language);
const only = (language: string) => written(language)[0]!.text;
const recipes = written('sh');
const work = mkdtempSync(join(tmpdir(), 'probust-docs-'));
let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  rmSync(work, { recursive: true, force: true });
});

/** Creates a folder with the package, in which npx finds the bundlers. */
function project(name: string): string {
  const folder = join(work, name.replace(/\W+/g, '-'));
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  cpSync(staged, join(folder, 'node_modules/probust'), { recursive: true });
  symlinkSync(join(root, 'wasm/node_modules/.bin'), join(folder, 'node_modules/.bin'));
  symlinkSync(join(root, 'wasm/node_modules/onnxruntime-web'), join(folder, 'node_modules/onnxruntime-web'));
  cpSync(digits, join(folder, 'digits.onnx'));
  return folder;
}

async function rowsOf(folder: string, policy: string): Promise<{ p: number; status: string }[]> {
  const server = await serve([folder, work], { 'content-security-policy': policy });
  try {
    return JSON.parse(await resultOf(browser, `${server.url}/index.html`)) as { p: number; status: string }[];
  } finally {
    server.close();
  }
}

function expectRows(rows: { p: number; status: string }[], count: number): void {
  expect(rows).toHaveLength(count);
  for (const row of rows) {
    expect(row.p).toBeGreaterThan(0);
    expect(['ok', 'bound']).toContain(row.status);
  }
}

it('has only blocks that are compiled or run', () => {
  expect(blocks.length).toBeGreaterThan(12);
  const known = ['ts', 'js', 'html', 'main.js', 'index.html', 'sh', 'text']; // command.test.ts tests the command in text blocks
  expect(blocks.filter(({ language }) => !known.includes(language))).toEqual([]);
});

it('compiles', () => {
  const folder = project('types');
  const files = written('ts').map(({ text }, i) => {
    writeFileSync(join(folder, `block${i}.ts`), text + '\nexport {};\n');
    return `block${i}.ts`;
  });
  const flags = [
    '--noEmit',
    '--strict',
    '--noUncheckedIndexedAccess',
    '--module',
    'es2022',
    '--moduleResolution',
    'bundler',
    '--target',
    'es2022',
    '--lib',
    'es2022,dom,dom.iterable,esnext.disposable',
  ];
  execFileSync(join(root, 'wasm/node_modules/.bin/tsc'), [...flags, ...files], { cwd: folder, stdio: 'pipe', encoding: 'utf8' });
});

const service = 'http://localhost:8000/classify';
const alone = written('js').filter(({ text }) => !text.includes(service));
it.each(alone.map((block, i) => ({ ...block, i })))('runs in node: $heading, $i', ({ text, i }) => {
  const folder = project(`script${i}`);
  writeFileSync(join(folder, 'main.js'), text);
  const out = execFileSync(process.execPath, ['main.js'], { cwd: folder, encoding: 'utf8' });
  expect(out).toContain('mc:1000');
  expect(out).toContain("'ok'");
});

/** A service that returns the logits of the demo's model. It rejects the second request, and records the times of requests. */
async function classifierService(busy: number): Promise<{ url: string; times: number[]; close: () => void }> {
  const probust = await (await load()).createProbust();
  const model = await probust.loadModel(digits);
  const times: number[] = [];
  const server = createServer(async (request, response) => {
    times.push(performance.now());
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    if (times.length === 2 || busy !== 429) return response.writeHead(busy, { 'retry-after': '1' }).end();
    const bytes = Uint8Array.from(Buffer.concat(parts));
    const logits = await model.logits(new Float32Array(bytes.buffer));
    response.end(new Uint8Array(logits.buffer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    probust.dispose();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, times, close };
}

const remote = written('js').filter(({ text }) => text.includes(service));
it.each(remote)('respects the limits of a service and tries again', async ({ text }) => {
  const { url, times, close } = await classifierService(429);
  const folder = project('service');
  writeFileSync(join(folder, 'main.js'), text.replace(service, url));
  const { stdout } = await promisify(execFile)(process.execPath, ['main.js'], { cwd: folder });
  close();
  expect(stdout).toContain("'ok'");
  expect(times).toHaveLength(6); // one request for the logits at the point, four for batches, one repeated
  // Requests start at least 200 ms apart, and one second after the rejection. On a busy machine, a request may arrive a little
  // late.
  const pauses = times.slice(1).map((time, i) => time - times[i]!);
  expect(pauses.reduce((sum, pause) => sum + pause, 0)).toBeGreaterThan(4 * 200 + 1000 - 300);
  expect(Math.min(...pauses)).toBeGreaterThan(50);
  expect(pauses[1]).toBeGreaterThan(900);
});

it.each(remote)('gives up if a service rejects the requests', async ({ text }) => {
  const { url, times, close } = await classifierService(403);
  const folder = project('refusal');
  writeFileSync(join(folder, 'main.js'), text.replace(service, url));
  await expect(promisify(execFile)(process.execPath, ['main.js'], { cwd: folder })).rejects.toThrow('HTTP status 403');
  close();
  expect(times).toHaveLength(1);
});

it('has one example of a service', () => expect(remote).toHaveLength(1));

it.each(written('html').map((block, i) => ({ ...block, i })))('runs in a page: $heading, $i', async ({ text, i }) => {
  const folder = project(`page${i}`);
  writeFileSync(join(folder, 'index.html'), text);
  // The README's pages have inline scripts.
  expectRows(await rowsOf(folder, `${strictPolicy} 'unsafe-inline'`), i === 0 ? 2 : 1);
});

it.each(recipes)('runs when bundled by $heading', async ({ text, heading }) => {
  const folder = project(heading);
  writeFileSync(join(folder, 'main.js'), only('main.js'));
  writeFileSync(join(folder, 'index.html'), only('index.html'));
  const [install, ...commands] = text.trim().split('\n');
  expect(install).toBe('npm install probust'); // project() has installed the staged package
  for (const command of commands) execFileSync('sh', ['-c', command], { cwd: folder, stdio: 'pipe', encoding: 'utf8' });
  cpSync(digits, join(folder, 'dist/digits.onnx'));
  expectRows(await rowsOf(join(folder, 'dist'), strictPolicy), 2);
});

it('builds its first example with the default target of Vite', () => {
  const folder = project('first-example');
  writeFileSync(join(folder, 'main.ts'), written('ts')[0]!.text);
  writeFileSync(join(folder, 'index.html'), only('index.html').replace('./main.js', './main.ts'));
  const vite = join(root, 'wasm/node_modules/.bin/vite');
  execFileSync(vite, ['build', '--logLevel', 'error'], { cwd: folder, stdio: 'pipe', encoding: 'utf8' });
});

const pageBlocks = (page: string, language: string) =>
  blocksOf(readFileSync(join(root, 'docs', page), 'utf8')).filter((block) => block.language === language);

it('runs the page of the quick start', async () => {
  const [page, ...others] = pageBlocks('start/browser.md', 'html');
  expect(others).toEqual([]);
  const folder = project('quick-start');
  writeFileSync(join(folder, 'index.html'), page!.text);
  expectRows(await rowsOf(folder, `${strictPolicy} 'unsafe-inline'`), 1);
});

it.each(pageBlocks('start/browser.md', 'js'))('runs the script of the quick start', ({ text }) => {
  const folder = project('quick-start-script');
  writeFileSync(join(folder, 'main.js'), text);
  expect(execFileSync(process.execPath, ['main.js'], { cwd: folder, encoding: 'utf8' })).toContain("'ok'");
});

it('shows the rows of a run as in the guide to dashboards', async () => {
  const folder = project('dashboard');
  const model = await (await (await load()).createProbust()).loadModel(digits);
  const { writeRows } = (await load('data.mjs')) as unknown as typeof import('../src/data.js');
  const rows = await model.estimate(new Float32Array(4 * 256), { noise: 'gaussian:0.1', labels: [0, 0, 1, 1] });
  writeFileSync(join(folder, 'run.jsonl'), writeRows(rows));
  writeFileSync(
    join(folder, 'index.html'),
    pageBlocks('dashboard.md', 'html').find(({ text }) => text.includes('run.jsonl'))!.text,
  );
  const server = await serve([folder], {});
  const page = await browser.context.newPage();
  try {
    await page.goto(`${server.url}/index.html`);
    const mean = rows.reduce((sum, { p }) => sum + p!, 0) / rows.length;
    const value = await page.locator('probust-number [part~="value"]').textContent();
    expect(parseFloat(value!.replace('%', '')) / 100).toBeCloseTo(mean, 2);
  } finally {
    await page.close();
    server.close();
  }
});
