// SPDX-License-Identifier: MIT
// Adds `probust/explorer` to the staged package: its scripts, types, and entry in the manifest. Run in web/ by CMake.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'vite';
import { staged } from './link.mjs';

const entry = {
  types: './explorer/types/element/package.d.ts',
  browser: './explorer/explorer.mjs',
  node: './explorer/none.mjs',
  default: './explorer/explorer.mjs',
};
const licensed = ['d3-array', 'd3-contour', 'd3-path', 'd3-shape', 'internmap', 'sql.js'];

function declarations() {
  const folder = mkdtempSync(join(tmpdir(), 'probust-types-'));
  const options = ['--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--rootDir', 'src', '--outDir', folder];
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.package.json', ...options], {
    stdio: 'inherit',
  });
  for (const name of ['element/package', 'element/public', 'engine/second', 'state/state', 'state/codec'])
    cpSync(join(folder, `${name}.d.ts`), join(staged, 'explorer/types', `${name}.d.ts`));
  rmSync(folder, { recursive: true });
}

function manifest() {
  const path = join(staged, 'package.json');
  const text = JSON.parse(readFileSync(path, 'utf8'));
  text.exports = { './explorer': entry, ...text.exports };
  text.sideEffects = [...new Set([...text.sideEffects, './explorer/*.mjs'])];
  writeFileSync(path, JSON.stringify(text, null, 2) + '\n');
}

function licences() {
  const path = join(staged, 'LICENSES-OF-COMPONENTS');
  const text = (name) => `${name}\n\n${readFileSync(join('node_modules', name, 'LICENSE'), 'utf8').trim()}\n`;
  const known = readFileSync(path, 'utf8');
  const missing = licensed.filter((name) => !known.includes(`${name}\n\n`));
  writeFileSync(path, [known, ...missing.map(text)].join('\n\n'));
}

process.env.NODE_ENV = 'production';
await build({ configFile: 'vite.package.config.ts', logLevel: 'warn', mode: 'production' });
declarations();
writeFileSync(
  join(staged, 'explorer/none.mjs'),
  '// Servers that render pages import elements, too, but have no HTMLElement.\nexport const ProbustExplorer = undefined;\nexport const useSecondEngine = () => undefined;\n',
);
manifest();
licences();
