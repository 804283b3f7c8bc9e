// SPDX-License-Identifier: MIT
// Makes the pages and files of the site that are not written by hand: the command line as the program describes itself, the
// pages that other folders keep (pages.mjs), the TypeScript and C++ reference, and the explorer. What is not built is left
// out, and the page says so. PROBUST_PROGRAM, PROBUST_EXPLORER: the built program, and the folder of the built explorer.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { docs, foreignPages, root } from './pages.mjs';

const generated = join(docs, 'generated'),
  files = join(docs, 'public');
const program = process.env.PROBUST_PROGRAM ?? join(root, 'build/release/bin/probust');
const explorer = process.env.PROBUST_EXPLORER ?? join(root, 'web/dist');

function write(name, text) {
  const path = join(generated, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Runs `make`; if that fails, a page says what is missing. */
function optionally(what, page, make) {
  try {
    make();
  } catch (error) {
    console.warn(`docs: without ${what}: ${String(error.message).split('\n')[0]}`);
    if (page) write(page.name, `# ${page.title}\n\nThis build of the site has no ${what}.\n`);
  }
}

function commandLine() {
  const text = execFileSync(program, ['manual', '--format', 'markdown'], { encoding: 'utf8' });
  const intro = 'The program wrote this page: `probust manual --format markdown`. `probust COMMAND --help` prints the same.';
  write('command-line.md', `# The command line\n\n${intro}\n\n${text}`);
}

/** A page that another folder keeps: the same text, and where links start from. */
function copyForeignPages() {
  for (const [source, name] of Object.entries(foreignPages)) {
    if (!existsSync(join(root, source))) continue;
    write(`${name}.md`, `---\nsource: ${source}\n---\n\n${readFileSync(join(root, source), 'utf8')}`);
  }
}

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
    '--excludePrivate', '--excludeInternal', '--disableSources', '--hidePageHeader', '--hideBreadcrumbs',
    '--useCodeBlocks', '--expandObjects', '--skipErrorChecking', '--sanitizeComments',
    '--parametersFormat', 'table', '--propertyMembersFormat', 'table', '--enumMembersFormat', 'table',
    '--logLevel', 'Error',
  ];
  execFileSync(join(docs, 'node_modules/.bin/typedoc'), [...options, ...entries.map((name) => join(root, `wasm/src/${name}.ts`))], {
    cwd: join(root, 'wasm'),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

function cpp() {
  execFileSync('doxygen', ['-v'], { stdio: 'ignore' });
  const settings = readFileSync(join(docs, 'Doxyfile'), 'utf8') + `\nOUTPUT_DIRECTORY = ${files}\n`;
  execFileSync('doxygen', ['-'], { cwd: root, input: settings, stdio: ['pipe', 'ignore', 'inherit'] });
}

function copyExplorer() {
  if (!existsSync(join(explorer, 'probust-explorer.js'))) throw new Error(`${explorer} has no probust-explorer.js`);
  // The second engine is large and the explorer does without it.
  cpSync(explorer, join(files, 'explorer'), { recursive: true, filter: (path) => !/ort-wasm.*\.wasm$/.test(path) });
}

for (const folder of [generated, files]) rmSync(folder, { recursive: true, force: true });
mkdirSync(files, { recursive: true });
cpSync(join(root, 'web/public/icon.svg'), join(files, 'icon.svg'));
copyForeignPages();
optionally('explorer', null, copyExplorer);
optionally('description of the command line', { name: 'command-line.md', title: 'The command line' }, commandLine);
optionally('TypeScript reference', { name: 'typescript/index.md', title: 'TypeScript' }, typeScript);
optionally('C++ reference', null, cpp);
