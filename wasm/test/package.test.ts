// SPDX-License-Identifier: MIT
// The package from `npm pack`: its size, and its use in empty folders with node, bundlers and a plain page.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digits, load, point, root, run, staged } from './support.js';
import { isolation, launch, resultOf, serve, strictPolicy, type Browser } from './server.js';

const tools = join(root, 'wasm/node_modules/.bin');
const work = mkdtempSync(join(tmpdir(), 'probust-package-'));
const x = Array.from(point(1));
const options = { noise: 'gaussian:0.2', estimators: ['taylor', 'mc:300'] };
let tarball: string;
let expected: unknown;
let browser: Browser;

beforeAll(async () => {
  tarball = join(work, run('npm', ['pack', '--silent', '--pack-destination', work], staged).trim().split('\n').at(-1)!);
  const probust = await (await load()).createProbust();
  expected = await (await probust.loadModel(digits)).estimate(x, options);
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  rmSync(work, { recursive: true, force: true });
});

/** Creates an empty folder with the package installed, and these files. */
function project(name: string, files: Record<string, string>): string {
  const folder = join(work, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--silent', tarball], folder);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const html = (script: string) => `<!doctype html><meta charset="utf-8"><pre id="result"></pre>${script}`;
const app = (entry: string, created = '{}') => `import { createProbust } from '${entry}';
const show = (value) => { document.querySelector('#result').textContent = JSON.stringify(value); };
(async () => {
  const probust = await createProbust(${created});
  const model = await probust.loadModel('/digits.onnx');
  show(await model.estimate(${JSON.stringify(x)}, ${JSON.stringify(options)}));
})().catch((error) => show({ failed: String(error), cause: String(error.cause) }));
`;

/** The result of a built project's page under the strict policy. */
async function page(folder: string, headers = {}): Promise<unknown> {
  cpSync(digits, join(folder, 'digits.onnx'));
  const server = await serve([folder], { ...headers, 'content-security-policy': strictPolicy });
  try {
    return JSON.parse(await resultOf(browser, `${server.url}/index.html`));
  } finally {
    server.close();
  }
}

it('is small', () => {
  const files = readdirSync(staged, { recursive: true, encoding: 'utf8' }).filter((file) =>
    statSync(join(staged, file)).isFile(),
  );
  const size = (file: string) => gzipSync(readFileSync(join(staged, file)), { level: 9 }).length;
  const sizes = new Map(files.map((file) => [file, size(file)]));
  const large = [...sizes].filter(([, bytes]) => bytes > 2000).sort((a, b) => b[1] - a[1]);
  const lines = large.map(([file, bytes]) => `${(bytes / 1024).toFixed(1).padStart(8)} KB  ${file}`);
  console.log(
    ['gzipped:', ...lines, `${(statSync(tarball).size / 1024).toFixed(1).padStart(8)} KB  all of it, packed`].join('\n'),
  );
  // What a page downloads: the script, its imports, and the first part of the module.
  const scripts = ['probust.mjs'];
  for (const script of scripts) {
    for (const [, chunk] of readFileSync(join(staged, script), 'utf8').matchAll(/(?:from|import)"\.\/(shared-\w+\.mjs)"/g))
      if (chunk && !scripts.includes(chunk)) scripts.push(chunk);
  }
  expect(scripts.length).toBeGreaterThan(1);
  const sum = (...names: string[]) => names.reduce((all, file) => all + sizes.get(file)!, 0) / 1024;
  const download = sum(...scripts, 'probust.wasm');
  console.log(`${download.toFixed(1).padStart(8)} KB  downloaded by a page`);
  expect(download).toBeLessThan(350);
  // The explorer also downloads its own scripts, which are not counted here.
  expect(sum('probust.wasm', 'probust-more.wasm')).toBeLessThan(365);
});

it('contains the documented files, and nothing else', () => {
  const names = run('tar', ['-tzf', tarball], work).trim().split('\n');
  const manifest = JSON.parse(readFileSync(join(staged, 'package.json'), 'utf8'));
  const targets = Object.values(manifest.exports)
    .filter(Boolean)
    .flatMap((entry) => (typeof entry === 'string' ? [entry] : Object.values(entry as object)));
  for (const target of targets) expect(names).toContain(join('package', target));
  const allowed =
    /^package\/(package\.json|rows\.schema\.json|README\.md|COMPONENTS\.md|LICENSE|LICENSES-OF-COMPONENTS|[a-z-]+\.(mjs|wasm|iife\.js)|shared-\w+\.mjs|threads\/[a-z.-]+\.(mjs|js|wasm)|(explorer\/)?types\/([a-z-]+\/)?[a-z-]+\.d\.ts|explorer\/([a-z-]+\.mjs|(digits|moons|six)\.onnx|sql-wasm-browser\.wasm))$/;
  expect(names.filter((name) => !allowed.test(name))).toEqual([]);
});

const locks = ['wasm', 'web'].map((folder) => readFileSync(join(root, folder, 'package-lock.json'), 'utf8'));

it('works as a command in an empty folder', () => {
  const folder = join(work, 'empty');
  mkdirSync(folder);
  cpSync(tarball, join(folder, 'probust.tgz'));
  const words = [
    'estimate',
    digits,
    join(root, 'demos/digits/points.npz'),
    '--sigma',
    '0.2',
    '--limit',
    '3',
    '--format',
    'table',
  ];
  const begin = performance.now();
  const table = run('npx', ['--yes', '--offline', './probust.tgz', ...words], folder);
  console.log(`npx: ${((performance.now() - begin) / 1000).toFixed(1)} s`);
  expect(table).toMatch(/^ index +label +predicted +noise +estimator +p +p_fail/);
  expect(table.trim().split('\n')).toHaveLength(4);
});

it('names no machine and no registry', () => {
  for (const lock of locks) expect(lock).not.toMatch(/resolved|https?:\/\/[^"]*registry/);
  for (const file of ['probust.mjs', 'worker.mjs', 'probust.iife.js', 'probust.wasm']) {
    expect(readFileSync(join(staged, file)).includes(root)).toBe(false);
  }
});

/** An entry of a lock file. */
interface Locked {
  version: string;
  integrity?: string;
  os?: string[];
  optional?: boolean;
  optionalDependencies?: Record<string, string>;
}

it('has lock files for all platforms', () => {
  for (const lock of locks) {
    const { packages } = JSON.parse(lock) as { packages: Record<string, Locked> };
    const platforms = new Set<string>();
    for (const [path, { optionalDependencies = {} }] of Object.entries(packages)) {
      if (!/node_modules\/(rollup|esbuild)$/.test(path)) continue;
      for (const [name, version] of Object.entries(optionalDependencies)) {
        const own = packages[path.replace(/\w+$/, name)] ?? packages[`node_modules/${name}`];
        expect(own, `${name} of ${path}`).toMatchObject({
          optional: true,
          integrity: expect.stringMatching(/^sha512-/) as string,
        });
        if (!version.startsWith('~')) expect(own!.version, `${name} of ${path}`).toBe(version);
        for (const os of own!.os ?? []) platforms.add(`${path.replace(/.*\//, '')} ${os}`);
      }
    }
    for (const os of ['darwin', 'linux', 'win32']) {
      expect([...platforms]).toEqual(expect.arrayContaining([`rollup ${os}`, `esbuild ${os}`]));
    }
  }
});

it('works in node', () => {
  const text = `import { createProbust } from 'probust';
    import { readFile } from 'node:fs/promises';
    const probust = await createProbust({ threads: 2 });
    const model = await probust.loadModel(await readFile(${JSON.stringify(digits)}));
    console.log(JSON.stringify(await model.estimate(${JSON.stringify(x)}, ${JSON.stringify(options)})));`;
  expect(JSON.parse(run('node', ['main.js'], project('node', { 'main.js': text })))).toEqual(expected);
});

it('reports that onnxruntime-web is not installed', () => {
  const text = `import { createProbust } from 'probust';
    import { createOrtModel } from 'probust/ort';
    await createOrtModel(await createProbust(), ${JSON.stringify(digits)}).catch(({ code, hint }) => console.log(code, hint));`;
  expect(run('node', ['main.js'], project('without-ort', { 'main.js': text }))).toMatch(
    /^environment npm install onnxruntime-web/,
  );
});

it('runs models with onnxruntime-web and Vite', async () => {
  const text = app('probust')
    .replace('\n', "\nimport { createOrtModel } from 'probust/ort';\n")
    .replace("probust.loadModel('/digits.onnx')", "createOrtModel(probust, '/digits.onnx')")
    .replace(JSON.stringify(options), JSON.stringify({ ...options, estimators: 'mc:300' }));
  const folder = project('vite-ort', { 'index.html': html('<script type="module" src="/main.js"></script>'), 'main.js': text });
  symlinkSync(join(root, 'wasm/node_modules/onnxruntime-web'), join(folder, 'node_modules/onnxruntime-web'));
  run(join(tools, 'vite'), ['build', '--logLevel', 'error'], folder);
  expect(await page(join(folder, 'dist'))).toEqual([(expected as unknown[])[1]]);
});

// The README's recipes (docs.test.ts) run the module in the page; these tests run it in workers, and with the module inlined.
it('works in a worker with Vite', async () => {
  const folder = project('vite', {
    'index.html': html('<script type="module" src="/main.js"></script>'),
    'main.js': app('probust', '{ worker: true }'),
  });
  run(join(tools, 'vite'), ['build', '--logLevel', 'error'], folder);
  expect(await page(join(folder, 'dist'))).toEqual(expected);
});

it('works in a worker with webpack, as a plain script', async () => {
  const folder = project('webpack', { 'main.js': app('probust', '{ worker: true }') });
  run(join(tools, 'webpack'), ['--mode', 'production', '--entry', './main.js', '--output-path', join(folder, 'dist')], folder);
  writeFileSync(join(folder, 'dist/index.html'), html('<script src="main.js"></script>'));
  expect(await page(join(folder, 'dist'))).toEqual(expected);
});

// The files are served unchanged, so the bundler must not modify them.
it('leaves threads alone with webpack', async () => {
  const folder = project('webpack-threads', {
    'main.js': app('probust/threads', "{ threads: 2, workerUrl: '/threads/worker.mjs' }"),
  });
  run(join(tools, 'webpack'), ['--mode', 'production', '--entry', './main.js', '--output-path', join(folder, 'dist')], folder);
  expect(readdirSync(join(folder, 'dist')).filter((file) => !file.endsWith('.js'))).toEqual([]);
  cpSync(join(folder, 'node_modules/probust/threads'), join(folder, 'dist/threads'), { recursive: true });
  writeFileSync(join(folder, 'dist/index.html'), html('<script src="main.js"></script>'));
  expect(await page(join(folder, 'dist'), isolation)).toEqual(expected);
});

it.each([
  ['esbuild', ['main.js', '--bundle', '--format=esm', '--target=es2022', '--outfile=dist/main.js', '--log-level=error']],
  ['rollup', ['main.js', '--format', 'es', '--dir', 'dist', '--silent']],
])('works in a worker with %s, with worker.mjs in the folder of the bundle', async (tool, args) => {
  const folder = project(`${tool}-worker`, { 'main.js': app('./node_modules/probust/probust.mjs', '{ worker: true }') });
  run(join(tools, tool), args, folder);
  for (const file of ['probust.wasm', 'worker.mjs']) cpSync(join(staged, file), join(folder, 'dist', file));
  writeFileSync(join(folder, 'dist/index.html'), html('<script type="module" src="main.js"></script>'));
  expect(await page(join(folder, 'dist'))).toEqual(expected);
});

it('causes no warnings of bundlers', () => {
  const folder = project('warnings', { 'main.js': app('probust') });
  const said = run(join(tools, 'webpack'), ['--mode', 'production', '--entry', './main.js'], folder);
  expect(said.replace(/WARNING in (asset|entrypoint) size limit|WARNING in webpack performance/g, '')).not.toMatch(
    /WARNING|Critical/,
  );
});

it.each([
  ['esbuild', 'probust/compat', ['main.js', '--bundle', '--format=esm', '--outfile=dist/main.js', '--log-level=error']],
  ['rollup', './node_modules/probust/compat.mjs', ['main.js', '--format', 'es', '--file', 'dist/main.js', '--silent']],
])('is one file with %s and the module inlined', async (tool, entry, args) => {
  const folder = project(tool, { 'main.js': app(entry) });
  run(join(tools, tool), args, folder);
  writeFileSync(join(folder, 'dist/index.html'), html('<script type="module" src="main.js"></script>'));
  expect(await page(join(folder, 'dist'))).toEqual(expected);
});

it('has types that a strict compiler accepts, for every entry', () => {
  const text = `import { createProbust, ProbustError, type Row } from 'probust';
    import { createProbust as compat } from 'probust/compat';
    import { createOrtModel, type OrtOptions } from 'probust/ort';
    import { createProbust as shared } from 'probust/threads';
    const options: OrtOptions = { provider: 'wasm', mean: [0.5] };
    const other = await createOrtModel(await compat(), 'm.onnx', options);
    const row: Row = (await (await (await createProbust()).loadModel('m.onnx')).estimate([0], { noise: 'gaussian:0.1' }))[0]!;
    const p: number | null = row.p;
    import type { Reading } from 'probust/element';
    const gallery = document.createElement('probust-gallery');
    Object.assign<typeof gallery, Partial<typeof gallery>>(gallery, { count: 3, rows: [row], sigma: [0.1] });
    document.querySelector('probust-curve')!.addEventListener('probust-rows', ({ detail }) => (gallery.rows = detail.rows));
    export { p, other, compat, shared, ProbustError, type Reading };`;
  const folder = project('types', { 'main.ts': text });
  const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022'];
  run(join(tools, 'tsc'), [...flags, 'main.ts'], folder);
  writeFileSync(join(folder, 'main.ts'), text.replace('number | null', 'string'));
  expect(() => run(join(tools, 'tsc'), [...flags, 'main.ts'], folder)).toThrow();
});
