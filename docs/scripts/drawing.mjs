// SPDX-License-Identifier: MIT
// Common functions for the figures in docs/figures/: colours, text, lines, and writing or checking the files.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { docs } from './pages.mjs';

export const width = 380;
export const colours = ['a', 'b', 'c', 'd', 'e'];

/** Colours for a file that is viewed on its own; on the site, the page's theme overrides them. */
const style = `<style>
svg.figure { --ink: #1f2328; --soft: #6b7280; --line: #d5d9df; --a: #2f5d9b; --b: #b5541c; --c: #2a7f5f; --d: #7b4fa3; --e: #9a7b12; }
@media (prefers-color-scheme: dark) {
svg.figure { --ink: #e3e6ea; --soft: #a3abb6; --line: #3b4048; --a: #8db4ea; --b: #eb9a66; --c: #69c7a2; --d: #c3a0e6; --e: #dcc05f; }
}
svg.figure text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg.figure .soft { fill: var(--soft); }
svg.figure .line { stroke: var(--line); }
svg.figure .ink { stroke: var(--ink); }
${colours.map((c) => `svg.figure .${c} { stroke: var(--${c}); fill: var(--${c}); }`).join('\n')}
svg.figure polyline { fill: none !important; stroke-width: 2; }
</style>`;

export const number = (x) => String(Math.round(x * 10) / 10);
export const label = (x, y, words, anchor = 'start', kind = '') =>
  `<text x="${number(x)}" y="${number(y)}" text-anchor="${anchor}"${kind && ` class="${kind}"`}>${words}</text>`;
export const line = (x1, y1, x2, y2, kind, more = '') =>
  `<line x1="${number(x1)}" y1="${number(y1)}" x2="${number(x2)}" y2="${number(y2)}" class="${kind}" ${more}/>`;
export const dot = (x, y, kind) => `<circle cx="${number(x)}" cy="${number(y)}" r="3.5" class="${kind}"/>`;

export function svg(height, parts) {
  const open = `<svg xmlns="http://www.w3.org/2000/svg" class="figure" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`;
  return [open, style, ...parts, '</svg>', ''].join('\n');
}

export function legend(names, y) {
  return names.flatMap((name, i) => {
    const [x, at] = [44 + (i % 2) * 172, y + Math.floor(i / 2) * 18];
    return [line(x, at - 4, x + 18, at - 4, colours[i], 'stroke-width="3"'), label(x + 24, at, name)];
  });
}

/** Writes `figures`, texts by file name, to docs/figures/; with --check, lists those that are out of date. `script` draws them. */
export function writeFigures(figures, script) {
  mkdirSync(join(docs, 'figures'), { recursive: true });
  let stale = 0;
  for (const [name, drawn] of Object.entries(figures)) {
    const path = join(docs, 'figures', name);
    if (!process.argv.includes('--check')) writeFileSync(path, drawn);
    else if (readFileSync(path, 'utf8') !== drawn) {
      console.error(`docs/figures/${name} is out of date: node docs/scripts/${script}`);
      ++stale;
    }
  }
  process.exit(stale > 0 ? 1 : 0);
}
