// SPDX-License-Identifier: MIT
// Stages the npm package: node build.mjs MODULES OUT VERSION SPLITTER, where MODULES is the folder of Emscripten's outputs, and
// SPLITTER is Binaryen's wasm-split. CMake calls it.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { split } from './split/split.mjs';

const [modules, out] = process.argv.slice(2, 4).map((folder) => resolve(folder));
const [version, splitter] = process.argv.slice(4);
const here = dirname(fileURLToPath(import.meta.url));

/** Provides the imports of Emscripten's glue and of the module as text. The glue for threads remains a separate file. */
const built = {
  name: 'built',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/glue\.mjs$/ }, () => ({ path: join(modules, 'probust.mjs') }));
    onResolve({ filter: /\/threads-glue\.mjs$/ }, () => ({ path: './probust-threads.mjs', external: true }));
    onResolve({ filter: /^probust\.wasm\.gz$/ }, ({ path }) => ({ path, namespace: 'packed' }));
    onLoad({ filter: /.*/, namespace: 'packed' }, () => ({
      contents: gzipSync(readFileSync(join(modules, 'probust.wasm')), { level: 9 }),
      loader: 'base64',
    }));
  },
};

/** Modules of the package that remain separate files. */
const published = {
  name: 'published',
  setup({ onResolve }) {
    const files = { index: './probust.mjs', data: './data.mjs' };
    onResolve({ filter: /^\.\.\/src\/(index|data)\.js$/ }, ({ path }) => ({
      path: files[/(\w+)\.js$/.exec(path)[1]],
      external: true,
    }));
  },
};

const options = {
  bundle: true,
  minify: true,
  target: 'es2022',
  legalComments: 'none',
  plugins: [built],
  banner: { js: `/* probust ${version}, MIT license */` },
  external: ['onnxruntime-web'],
  logLevel: 'warning',
};
/**
 * Adds comments that make bundlers ignore the imports of node's modules. (Minifying removes such comments from the sources.)
 */
function markForBundlers(folder) {
  let marked = 0;
  for (const name of readdirSync(folder).filter((file) => file.endsWith('js'))) {
    const path = join(folder, name);
    const text = readFileSync(path, 'utf8').replace(/\bimport\(([\w$]+)\)/g, (_, module) => {
      ++marked;
      return `import(/* webpackIgnore: true */ /* @vite-ignore */ ${module})`;
    });
    writeFileSync(path, text);
  }
  if (marked === 0) throw new Error(`${folder}: there is no import to mark for bundlers`);
}

const source = (name) => join(here, 'src', `${name}.ts`);

function declarations() {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  execFileSync(
    process.execPath,
    [tsc, '-p', here, '--noEmit', 'false', '--emitDeclarationOnly', '--outDir', join(out, 'types')],
    {
      stdio: 'inherit',
    },
  );
}

function manifest() {
  const text = JSON.parse(readFileSync(join(here, 'package', 'package.json'), 'utf8'));
  writeFileSync(join(out, 'package.json'), JSON.stringify({ ...text, version }, null, 2) + '\n');
}

/** The licences of the libraries that are included in the scripts. */
function licences(inputs) {
  const names = Object.keys(inputs).flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  const text = (name) => readFileSync(join(here, 'node_modules', name, 'LICENSE'), 'utf8').trim();
  return [...new Set(names)].sort().map((name) => `${name}\n\n${text(name)}\n`);
}

/** Splits the module and writes its parts (split/split.mjs). */
async function splitModule() {
  const folder = mkdtempSync(join(tmpdir(), 'probust-workloads-'));
  const outfile = join(folder, 'workloads.mjs');
  await build({
    entryPoints: [join(here, 'split/workloads.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    logLevel: 'warning',
  });
  process.env.PROBUST_ROOT = join(here, '..');
  const { partNames, placeholders, ...workloads } = await import(pathToFileURL(outfile).href);
  rmSync(folder, { recursive: true });
  await split({ splitter, module: join(modules, 'probust.wasm'), out, partNames, placeholders, workloads });
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const { metafile } = await build({
  ...options,
  metafile: true,
  entryPoints: {
    probust: source('index'),
    compat: source('compat'),
    ort: source('ort'),
    function: source('function'),
    analysis: source('analysis'),
    data: source('data'),
    element: source('element'),
    page: source('page'),
    threads: source('threads'),
  },
  outdir: out,
  format: 'esm',
  splitting: true,
  chunkNames: 'shared-[hash]',
  outExtension: { '.js': '.mjs' },
});
// Each worker is a single file, which is easy to serve.
await build({
  ...options,
  entryPoints: { worker: source('worker') },
  outdir: out,
  format: 'esm',
  outExtension: { '.js': '.mjs' },
});
await build({
  ...options,
  entryPoints: { worker: source('threads-worker') },
  outdir: join(out, 'threads'),
  format: 'esm',
  outExtension: { '.js': '.mjs' },
});
// The command, which uses the published modules.
const command = await build({
  ...options,
  metafile: true,
  entryPoints: { command: join(here, 'command', 'main.ts') },
  outdir: out,
  format: 'esm',
  platform: 'node',
  outExtension: { '.js': '.mjs' },
  plugins: [published],
});
await build({
  ...options,
  entryPoints: [source('index')],
  outfile: join(out, 'probust.iife.js'),
  format: 'iife',
  globalName: 'probust',
  banner: {
    js: `${options.banner.js}\nvar probustScript = typeof document === 'undefined' ? location.href : document.currentScript.src;`,
  },
  define: { 'import.meta.url': 'probustScript' },
});
for (const folder of [out, join(out, 'threads')]) markForBundlers(folder);
await splitModule();
// Emscripten before 3.1.58 writes a separate script for threads; newer versions use the glue as that script, too.
for (const name of readdirSync(modules).filter((file) => /^probust-threads\.(mjs|worker\.m?js|wasm)$/.test(file))) {
  cpSync(join(modules, name), join(out, 'threads', name));
}
declarations();
manifest();
writeFileSync(
  join(out, 'no-elements.mjs'),
  '// Servers that render pages import elements, too, but have no HTMLElement.\nexport {};\n',
);
for (const manual of ['README.md', 'COMPONENTS.md']) cpSync(join(here, manual), join(out, manual));
cpSync(join(here, '..', 'LICENSE'), join(out, 'LICENSE'));
writeFileSync(join(out, 'LICENSES-OF-COMPONENTS'), licences({ ...metafile.inputs, ...command.metafile.inputs }).join('\n\n'));
cpSync(join(here, '..', 'docs', 'rows.schema.json'), join(out, 'rows.schema.json'));
