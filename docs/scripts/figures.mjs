// SPDX-License-Identifier: MIT
// Draws docs/figures/*.svg from the tables in docs/estimators.md and docs/perturbation-results.md: node scripts/figures.mjs [--check].
// With --check, lists the figures that are out of date.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { colours, dot, label, legend, line, number, svg, writeFigures } from './drawing.mjs';
import { docs } from './pages.mjs';

/** The rows, as objects, of the first table of a page after `heading` whose first columns have these names. */
function tableOf(page, heading, ...names) {
  const text = readFileSync(join(docs, page), 'utf8');
  const begin = text.indexOf(`| ${names.join(' | ')} |`, text.indexOf(`\n## ${heading}\n`));
  if (begin < 0) throw new Error(`${page} has no table ${names} after ${heading}`);
  const lines = text.slice(begin, text.indexOf('\n\n', begin)).split('\n');
  const cells = (line) => line.split('|').slice(1, -1).map((cell) => cell.trim().replaceAll('`', ''));
  const head = cells(lines[0]);
  return lines.slice(2).map((line) => Object.fromEntries(cells(line).map((cell, i) => [head[i], cell])));
}

const table = (heading, ...names) => tableOf('estimators.md', heading, ...names);

/** The error relative to that of Monte Carlo against the cost, on a logarithmic axis. */
function errorAtCost(rows, series) {
  const [left, right, top, bottom] = [44, 366, 30, 250];
  const x = (cost) => left + (Math.log(cost / 18) / Math.log(300 / 18)) * (right - left);
  const y = (ratio) => bottom - ((ratio - 0.4) / 0.65) * (bottom - top);
  const parts = [label(4, 14, 'mean absolute error, divided by Monte Carlo’s', 'start', 'soft')];
  for (const ratio of [0.4, 0.6, 0.8, 1]) {
    parts.push(line(left, y(ratio), right, y(ratio), ratio === 1 ? 'ink' : 'line'), label(left - 6, y(ratio) + 4, ratio.toFixed(1), 'end'));
  }
  parts.push(label(right, y(1) - 6, 'Monte Carlo, mc:N', 'end', 'soft'));
  for (const cost of [25, 50, 100, 250]) parts.push(label(x(cost), bottom + 18, cost, 'middle'));
  parts.push(label(right, bottom + 36, 'cost in forward passes', 'end', 'soft'));
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

/**
 * A cell for each row and column: the smaller its share, the darker the cell. It shows the share in percent. The rows of a group
 * follow its name.
 */
function heatMap({ title, rows, name, group, columns }) {
  const [left, right, top, step] = [146, 378, 92, 16];
  const cell = (right - left) / columns.length;
  const parts = [label(4, 14, title, 'start', 'soft')];
  columns.forEach((each, k) => {
    const x = left + (k + 0.5) * cell + 4;
    parts.push(`<text x="${number(x)}" y="${top - 4}" transform="rotate(-90 ${number(x)} ${top - 4})">${each}</text>`);
  });
  let y = top;
  rows.forEach((row, i) => {
    if (row[group] !== rows[i - 1]?.[group]) parts.push(label(left - 6, y + 14, row[group], 'end', 'soft'), line(4, y + 2, right, y + 2, 'line'));
    if (row[group] !== rows[i - 1]?.[group]) y += 18;
    parts.push(`<text x="${left - 6}" y="${number(y + 11.5)}" text-anchor="end" style="font-size: 10px">${row[name]}</text>`);
    columns.forEach((each, k) => {
      const [share, x] = [Number(row[each]), left + k * cell];
      const box = `x="${number(x + 0.5)}" y="${number(y + 0.5)}" width="${number(cell - 1)}" height="${step - 1}"`;
      parts.push(`<rect ${box} class="a" style="stroke: none" fill-opacity="${Math.min(0.65, 1 - share).toFixed(2)}"/>`);
      const place = `x="${number(x + cell / 2)}" y="${number(y + 11.2)}" text-anchor="middle"`;
      parts.push(`<text ${place} style="font-size: 8px">${Math.round(100 * share)}</text>`);
    });
    y += step;
  });
  return svg(y + 6, parts);
}

const costs = table('Error at equal cost', 'estimator', 'cost', 'mean of seven');
const shared = table('Points that share draws', 'estimator', 'cost', 'mean of seven');
const coverage = table('Intervals', 'estimator', 'N = 50', 'N = 200');
const networks = Object.keys(costs[0]).slice(3);
const row = (rows, name) => rows.find(({ estimator }) => estimator === name);

const gradients = ['taylor', 'mmse:5', 'adf'];
const withoutCopies = dots({
  title: 'mean absolute error / Monte Carlo’s at the same cost',
  names: gradients.map((name) => `${name} (cost ${row(costs, name).cost})`),
  series: [['', gradients.map((name) => row(costs, name)['mean of seven'])]],
  from: 0, to: 6, ticks: [0, 1, 2, 3, 4, 5, 6], mark: 1, left: 130,
});

const byNetwork = dots({
  title: 'mean absolute error / Monte Carlo’s at the same cost',
  names: networks,
  series: ['probit:24:pooled', 'regression:55:pooled', 'regression:110:adf'].map((name) => [name, networks.map((each) => row(costs, name)[each])]),
  from: 0.4, to: 1.4, ticks: [0.4, 0.6, 0.8, 1, 1.2, 1.4], mark: 1, left: 110,
});

const intervals = dots({
  title: 'coverage of 95% intervals',
  names: coverage.map(({ estimator }) => estimator),
  series: ['N = 50', 'N = 200', 'N = 1000'].map((each) => [each, coverage.map((one) => one[each])]),
  from: 0.93, to: 0.98, ticks: [0.93, 0.94, 0.95, 0.96, 0.97, 0.98], mark: 0.95, left: 140,
});

const perturbed = tableOf('perturbation-results.md', 'Mean p at medium strength', 'network', 'data');
const perturbations = heatMap({
  title: 'mean of p, in percent, at medium strength',
  rows: perturbed, name: 'network', group: 'data', columns: Object.keys(perturbed[0]).slice(2),
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
  'perturbations.svg': perturbations,
};

writeFigures(figures, 'figures.mjs');
