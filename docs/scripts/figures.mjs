// SPDX-License-Identifier: MIT
// Draws docs/figures/*.svg from the tables of docs/estimators.md: node scripts/figures.mjs [--check]. With --check, says which
// figures are out of date.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { docs } from './pages.mjs';

const text = readFileSync(join(docs, 'estimators.md'), 'utf8');

/** The rows, as objects, of the first table after `heading` whose first columns have these names. */
function table(heading, ...names) {
  const begin = text.indexOf(`| ${names.join(' | ')} |`, text.indexOf(`\n## ${heading}\n`));
  if (begin < 0) throw new Error(`estimators.md has no table ${names} after ${heading}`);
  const lines = text.slice(begin, text.indexOf('\n\n', begin)).split('\n');
  const cells = (line) => line.split('|').slice(1, -1).map((cell) => cell.trim().replaceAll('`', ''));
  const head = cells(lines[0]);
  return lines.slice(2).map((line) => Object.fromEntries(cells(line).map((cell, i) => [head[i], cell])));
}

const width = 380;
const colours = ['a', 'b', 'c', 'd', 'e'];

/** Colours for a file that is looked at alone; in the site, the page's theme has the last word. */
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

const number = (x) => String(Math.round(x * 10) / 10);
const label = (x, y, words, anchor = 'start', kind = '') =>
  `<text x="${number(x)}" y="${number(y)}" text-anchor="${anchor}"${kind && ` class="${kind}"`}>${words}</text>`;
const line = (x1, y1, x2, y2, kind, more = '') =>
  `<line x1="${number(x1)}" y1="${number(y1)}" x2="${number(x2)}" y2="${number(y2)}" class="${kind}" ${more}/>`;
const dot = (x, y, kind) => `<circle cx="${number(x)}" cy="${number(y)}" r="3.5" class="${kind}"/>`;

function svg(height, parts) {
  const open = `<svg xmlns="http://www.w3.org/2000/svg" class="figure" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`;
  return [open, style, ...parts, '</svg>', ''].join('\n');
}

function legend(names, y) {
  return names.flatMap((name, i) => {
    const [x, at] = [44 + (i % 2) * 172, y + Math.floor(i / 2) * 18];
    return [line(x, at - 4, x + 18, at - 4, colours[i], 'stroke-width="3"'), label(x + 24, at, name)];
  });
}

/** Error relative to Monte Carlo's against cost, on a logarithmic axis. */
function errorAtCost(rows, series) {
  const [left, right, top, bottom] = [44, 366, 30, 250];
  const x = (cost) => left + (Math.log(cost / 18) / Math.log(300 / 18)) * (right - left);
  const y = (ratio) => bottom - ((ratio - 0.4) / 0.65) * (bottom - top);
  const parts = [label(4, 14, 'mean error, divided by Monte Carlo’s', 'start', 'soft')];
  for (const ratio of [0.4, 0.6, 0.8, 1]) {
    parts.push(line(left, y(ratio), right, y(ratio), ratio === 1 ? 'ink' : 'line'), label(left - 6, y(ratio) + 4, ratio.toFixed(1), 'end'));
  }
  parts.push(label(right, y(1) - 6, 'counting copies, mc:N', 'end', 'soft'));
  for (const cost of [25, 50, 100, 250]) parts.push(label(x(cost), bottom + 18, cost, 'middle'));
  parts.push(label(right, bottom + 36, 'cost in forwards', 'end', 'soft'));
  series.forEach(([, pattern], i) => {
    const points = rows.filter(({ estimator }) => pattern.test(estimator)).map((row) => [x(row.cost), y(row['mean of seven'])]);
    parts.push(`<polyline points="${points.map((each) => each.map(number).join(',')).join(' ')}" class="${colours[i]}"/>`);
    parts.push(...points.map(([px, py]) => dot(px, py, colours[i])));
  });
  const names = series.map(([name]) => name);
  return svg(bottom + 62 + 18 * Math.ceil(names.length / 2), [...parts, ...legend(names, bottom + 62)]);
}

/** One line for each name: dots on a common axis from `from` to `to`, with a mark. */
function dots({ title, names, series, from, to, ticks, mark, left }) {
  const [right, top, step] = [360, 34, 24];
  const bottom = top + names.length * step;
  const x = (value) => left + ((value - from) / (to - from)) * (right - left);
  const parts = [label(4, 14, title, 'start', 'soft')];
  for (const tick of ticks)
    parts.push(line(x(tick), top - 8, x(tick), bottom, tick === mark ? 'ink' : 'line'), label(x(tick), bottom + 16, tick, 'middle'));
  names.forEach((name, k) => parts.push(label(left - 10, top + k * step + 12, name, 'end')));
  series.forEach(([, values], i) => {
    parts.push(...values.map((value, k) => dot(x(value), top + k * step + 8, colours[i])));
  });
  const keys = series.map(([name]) => name).filter(Boolean);
  return svg(bottom + 26 + (keys.length ? 18 + 18 * Math.ceil(keys.length / 2) : 0), [...parts, ...legend(keys, bottom + 42)]);
}

const costs = table('Error at equal cost', 'estimator', 'cost', 'mean of seven');
const shared = table('Points that share draws', 'estimator', 'cost', 'mean of seven');
const coverage = table('Intervals', 'estimator', 'N = 50', 'N = 200');
const networks = Object.keys(costs[0]).slice(3);
const row = (rows, name) => rows.find(({ estimator }) => estimator === name);

const gradients = ['taylor', 'mmse:5', 'adf'];
const withoutCopies = dots({
  title: 'mean error, divided by Monte Carlo’s at the same cost',
  names: gradients.map((name) => `${name} (cost ${row(costs, name).cost})`),
  series: [['', gradients.map((name) => row(costs, name)['mean of seven'])]],
  from: 0, to: 6, ticks: [0, 1, 2, 3, 4, 5, 6], mark: 1, left: 130,
});

const byNetwork = dots({
  title: 'error, divided by Monte Carlo’s at the same cost',
  names: networks,
  series: ['probit:24:pooled', 'regression:55:pooled', 'regression:110:adf'].map((name) => [name, networks.map((each) => row(costs, name)[each])]),
  from: 0.4, to: 1.4, ticks: [0.4, 0.6, 0.8, 1, 1.2, 1.4], mark: 1, left: 110,
});

const intervals = dots({
  title: 'share of 95% intervals that held',
  names: coverage.map(({ estimator }) => estimator),
  series: ['N = 50', 'N = 200', 'N = 1000'].map((each) => [each, coverage.map((one) => one[each])]),
  from: 0.93, to: 0.98, ticks: [0.93, 0.94, 0.95, 0.96, 0.97, 0.98], mark: 0.95, left: 140,
});

const figures = {
  'error-at-cost.svg': errorAtCost(costs, [
    ['probit:N', /^probit:\d+$/],
    ['probit:N:pooled', /^probit:\d+:pooled$/],
    ['regression:N:pooled', /^regression:\d+:pooled$/],
    ['regression:N:adf', /^regression:\d+:adf$/],
  ]),
  'sharing-draws.svg': errorAtCost(shared, [
    ['probit:N:pooled', /^probit:\d+:pooled$/],
    ['probit:N:shared', /^probit:\d+:shared$/],
    ['regression:N:learned', /^regression:\d+:learned$/],
  ]),
  'without-copies.svg': withoutCopies,
  'by-network.svg': byNetwork,
  'intervals.svg': intervals,
};

mkdirSync(join(docs, 'figures'), { recursive: true });
let stale = 0;
for (const [name, drawn] of Object.entries(figures)) {
  const path = join(docs, 'figures', name);
  if (!process.argv.includes('--check')) writeFileSync(path, drawn);
  else if (readFileSync(path, 'utf8') !== drawn) {
    console.error(`docs/figures/${name} is out of date: node docs/scripts/figures.mjs`);
    ++stale;
  }
}
process.exit(stale > 0 ? 1 : 0);
