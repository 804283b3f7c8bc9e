// SPDX-License-Identifier: MIT
// The first two examples of COMPONENTS.md, plain HTML and React, with the package from npm pack: without a bundler, and with each
// of four bundlers.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digits, point, root, run, staged } from './support.js';
import { launch, serve, strictPolicy, type Browser } from './server.js';

const modules = join(root, 'wasm/node_modules');
const work = mkdtempSync(join(tmpdir(), 'probust-components-'));
const manual = readFileSync(join(root, 'wasm/COMPONENTS.md'), 'utf8');
const example = (language: string) => new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(manual)![1]!;
const [plain, react] = [example('html'), example('jsx')];
const script = '<script type="module" src="./main.js"></script>';
const frame = `<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title><div id="root"></div>${script}`;
let browser: Browser;

const tool = (name: string) => join(modules, '.bin', name);

beforeAll(async () => {
  run('npm', ['pack', '--silent', '--pack-destination', work], staged);
  mkdirSync(join(work, 'packed'));
  run('sh', ['-c', 'tar -xzf probust-*.tgz -C packed'], work);
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  rmSync(work, { recursive: true, force: true });
});

function project(name: string, files: Record<string, string>): string {
  const folder = join(work, name);
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  cpSync(join(work, 'packed/package'), join(folder, 'node_modules/probust'), { recursive: true });
  for (const each of ['react', 'react-dom', 'scheduler', 'loose-envify', 'js-tokens'])
    symlinkSync(join(modules, each), join(folder, 'node_modules', each));
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
  return folder;
}

/** Opens the page with a model and points in its folder, and checks that the curve is drawn. */
async function expectCurve(folder: string): Promise<void> {
  cpSync(digits, join(folder, 'model.onnx'));
  const rows = [0, 1, 2].map((i) => [...point(i), i].join(','));
  writeFileSync(join(folder, 'points.csv'), rows.join('\n') + '\n');
  const server = await serve([folder], { 'content-security-policy': `${strictPolicy}; style-src 'self'` });
  const page = await browser.context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  try {
    await page.goto(`${server.url}/index.html`);
    const line = page.locator('probust-curve .line');
    await line.waitFor({ state: 'attached', timeout: 15_000 });
    expect((await line.getAttribute('d'))!.split('L')).toHaveLength(8);
    expect(await page.locator('probust-curve text').allTextContents()).toContain('sigma, in units of the data');
  } catch (error) {
    throw new Error([String(error), await page.locator('body').innerText(), ...problems].join('\n'));
  } finally {
    await page.close();
    server.close();
  }
}

const copyTo = (folder: string) => {
  const parts = ['probust.wasm', 'probust-images.wasm', 'probust-more.wasm', 'probust-curves.wasm', 'probust-rest.wasm'];
  for (const file of [...parts, 'worker.mjs']) cpSync(join(staged, file), join(folder, file));
};
const inHtml = plain.replace('./node_modules/probust/element.mjs', './main.js');
const asFile = "'./node_modules/probust/element.mjs'";
/** Bundles React with esbuild, for bundlers that would otherwise need plugins for JSX and CommonJS. */
const withReact = (folder: string, out: string) =>
  run(
    tool('esbuild'),
    ['main.jsx', '--bundle', '--jsx=automatic', '--format=esm', '--define:process.env.NODE_ENV="production"'].concat([
      '--external:probust/element',
      `--external:./node_modules/probust/*`,
      `--outfile=${out}`,
      '--log-level=error',
    ]),
    folder,
  );

it('are short', () => {
  for (const text of [plain, react]) expect(text.trim().split('\n').length).toBeLessThanOrEqual(10);
});

it('work without a bundler', async () => {
  await expectCurve(project('plain', { 'index.html': plain }));
  const folder = project('plain-react', { 'index.html': frame, 'main.jsx': react.replace("'probust/element'", asFile) });
  withReact(folder, 'main.js');
  await expectCurve(folder);
});

it('work with Vite', async () => {
  const main = "import 'probust/element';\n";
  const folder = project('vite', { 'index.html': inHtml, 'main.js': main });
  run(tool('vite'), ['build', '--logLevel', 'error'], folder);
  await expectCurve(join(folder, 'dist'));
  const config = "export default { esbuild: { jsx: 'automatic' } };\n";
  const files = { 'index.html': frame.replace('main.js', 'main.jsx'), 'main.jsx': react, 'vite.config.js': config };
  const app = project('vite-react', files);
  run(tool('vite'), ['build', '--logLevel', 'error'], app);
  await expectCurve(join(app, 'dist'));
});

it('work with webpack', async () => {
  const build = (folder: string) =>
    run(tool('webpack'), ['--mode', 'production', '--entry', './main.js', '--output-path', join(folder, 'dist')], folder);
  const folder = project('webpack', { 'main.js': "import 'probust/element';\n" });
  build(folder);
  writeFileSync(join(folder, 'dist/index.html'), inHtml);
  await expectCurve(join(folder, 'dist'));
  const app = project('webpack-react', { 'main.jsx': react });
  withReact(app, 'main.js');
  build(app);
  writeFileSync(join(app, 'dist/index.html'), frame);
  await expectCurve(join(app, 'dist'));
});

it.each(['esbuild', 'rollup'])('work with %s', async (name) => {
  const flags = ['--bundle', '--format=esm', '--target=es2022', '--jsx=automatic', '--outfile=dist/main.js', '--log-level=error'];
  const build = (folder: string, entry: string) =>
    name === 'esbuild'
      ? run(tool(name), [entry, ...flags, '--define:process.env.NODE_ENV="production"'], folder)
      : run(tool(name), [entry, '--format', 'es', '--dir', 'dist', '--silent'], folder);
  const folder = project(name, { 'main.js': `import ${asFile};\n` });
  build(folder, 'main.js');
  const app = project(`${name}-react`, { 'main.jsx': react.replace("'probust/element'", asFile) });
  if (name === 'rollup') withReact(app, 'main.js');
  build(app, name === 'rollup' ? 'main.js' : 'main.jsx');
  for (const [each, html] of [
    [folder, inHtml],
    [app, frame],
  ] as const) {
    copyTo(join(each, 'dist'));
    writeFileSync(join(each, 'dist/index.html'), html);
    await expectCurve(join(each, 'dist'));
  }
});
