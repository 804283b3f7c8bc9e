// SPDX-License-Identifier: MIT
// Generates pages and files of the site: the command line reference from the program, the pages from other folders (pages.mjs), the
// TypeScript and C++ reference, and the explorer. If something is not built, its page says so. PROBUST_PROGRAM, PROBUST_EXPLORER: the built program, and the folder of the built explorer.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { docs, downloads, foreignPages, root } from './pages.mjs';

const generated = join(docs, 'generated'),
  files = join(docs, 'public');
const program = process.env.PROBUST_PROGRAM ?? join(root, 'build/release/bin/probust');
const explorer = process.env.PROBUST_EXPLORER ?? join(root, 'web/dist');

function write(name, text) {
  const path = join(generated, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Runs `make`. If it fails, the page that includes `partial` says what is missing. */
function optionally(what, partial, make) {
  try {
    make();
  } catch (error) {
    console.warn(`docs: without ${what}: ${String(error.message).split('\n')[0]}`);
    if (partial) write(`partials/${partial}.md`, `This build of the site has no ${what}.\n`);
  }
}

function commandLine() {
  write('partials/command-line.md', execFileSync(program, ['manual', '--format', 'markdown'], { encoding: 'utf8' }));
}

/** Copies pages from other folders, and records their original paths, to which their links are relative. */
function copyForeignPages() {
  for (const [source, name] of Object.entries(foreignPages)) {
    if (!existsSync(join(root, source))) continue;
    write(`${name}.md`, `---\nsource: ${source}\n---\n\n${readFileSync(join(root, source), 'utf8')}`);
  }
}

/** Entries of the npm package, and their sources in wasm/src. */
const entries = ['index', 'data', 'analysis', 'function', 'ort', 'threads', 'element', 'page'];

function typeScript() {
  const options = [
    '--tsconfig', join(root, 'wasm/tsconfig.json'),
    '--plugin', 'typedoc-plugin-markdown',
    '--out', join(generated, 'typescript'),
    '--outputFileStrategy', 'modules',
    '--entryFileName', 'index',
    '--readme', 'none',
    '--name', 'TypeScript',
    '--excludePrivate', '--excludeInternal', '--excludeExternals', '--disableSources', '--hidePageHeader', '--hideBreadcrumbs',
    '--useCodeBlocks', '--useHTMLAnchors', '--expandObjects', '--skipErrorChecking', '--sanitizeComments',
    '--parametersFormat', 'table', '--propertyMembersFormat', 'table', '--enumMembersFormat', 'table',
    '--logLevel', 'Error',
  ];
  execFileSync(join(docs, 'node_modules/.bin/typedoc'), [...options, ...entries.map((name) => join(root, `wasm/src/${name}.ts`))], {
    cwd: join(root, 'wasm'),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  nameMainEntry();
  const names = entries.map((name) => (name === 'index' ? 'probust' : `probust/${name}`));
  const links = names.map((name) => `- [${name}](typescript/${name.split('/').pop()}.md)`);
  write('partials/typescript.md', links.join('\n') + '\n');
}

/** TypeDoc names the entry `probust` after its source file, index, and puts a list of entries on its page. */
function nameMainEntry() {
  const folder = join(generated, 'typescript');
  rmSync(join(folder, 'index.md'));
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const text = readFileSync(path, 'utf8').replaceAll('index-1.md', 'probust.md');
    writeFileSync(path, name === 'index-1.md' ? text.replace('# index', '# probust') : text.replace(/^# (\w+)/, '# probust/$1'));
  }
  renameSync(join(folder, 'index-1.md'), join(folder, 'probust.md'));
}

function cpp() {
  execFileSync('doxygen', ['-v'], { stdio: 'ignore' });
  const settings = readFileSync(join(docs, 'Doxyfile'), 'utf8') + `\nOUTPUT_DIRECTORY = ${files}\n`;
  execFileSync('doxygen', ['-'], { cwd: root, input: settings, stdio: ['pipe', 'ignore', 'ignore'] });
}

function copyExplorer() {
  if (!existsSync(join(explorer, 'probust-explorer.js'))) throw new Error(`${explorer} has no probust-explorer.js`);
  // The second engine is large, and the explorer works without it.
  cpSync(explorer, join(files, 'explorer'), { recursive: true, filter: (path) => !/ort-wasm.*\.wasm$/.test(path) });
}

for (const folder of [generated, files]) rmSync(folder, { recursive: true, force: true });
mkdirSync(files, { recursive: true });
cpSync(join(root, 'web/public/icon.svg'), join(files, 'icon.svg'));
for (const file of downloads) cpSync(join(root, file), join(files, 'files', basename(file)));
copyForeignPages();
optionally('explorer', null, copyExplorer);
optionally('description of the command line', 'command-line', commandLine);
optionally('TypeScript reference', 'typescript', typeScript);
optionally('C++ reference', null, cpp);
