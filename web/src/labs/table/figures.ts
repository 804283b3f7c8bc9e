// SPDX-License-Identifier: MIT
// The panels of the table lab: distance against p for all rows, and p and the rank correlation against the scale of the noise.
import { line } from 'd3-shape';
import { html, nothing, svg } from 'lit';
import type { Distances } from 'probust/analysis';
import { chart, cursor, inner } from '../../panels/chart.js';
import { panel, waiting } from '../../panels/panel.js';
import { csvOf } from '../../panels/save.js';
import { linearScale, logScale, type Scale } from '../../panels/scale.js';
import { naturalPerturbations } from '../../panels/sources.js';
import { percent, percentOf, tidy } from '../../panels/words.js';
import type { State } from '../../state/state.js';
import type { Parts } from '../lab-element.js';
import type { Answers, Kept } from '../lab-session.js';
import { scales } from './answers.js';
import type { Keys, TableValues } from './session.js';
import { categoryOf, rowOf, tableOfState } from '../../tables/tables.js';
import type { Ui } from './ui.js';

export type FigureParts = Parts<Answers<TableValues>, Ui> & { keys: Keys };

const shareAxis = (label: string) => ({
  ...{ scale: linearScale([0, 1], inner.y), ticks: [0, 0.25, 0.5, 0.75, 1], label },
  format: (value: number) => percent(value).replace('.0', ''),
});
const scaleAxis = (scale: Scale) => ({
  ...{
    scale,
    ticks: [0.03, 0.1, 0.3, 1, 3],
    format: (value: number) => tidy(value),
    label: 'sigma, in standard deviations of each column',
  },
});

/** Whether a result is stale. A placeholder is never shown as stale. */
const isStale = (kept: Kept<unknown> | undefined, key: string): boolean => kept !== undefined && kept.key !== key;

/** The name of the category that the noise changes (with the same probability at every sigma); undefined if there is none. */
const changing = (state: Readonly<State>): string | undefined => (state.tableChange > 0 ? categoryOf(state)?.name : undefined);

interface Dot {
  index: number;
  distance: number;
  p: number;
}

const dotsOf = ({ points }: Distances): Dot[] =>
  points.flatMap(({ index, boundary, p }) =>
    typeof boundary === 'number' && p !== null ? [{ index, distance: boundary, p }] : [],
  );

function scatter({ store, point, ui }: FigureParts, found: Distances, dots: readonly Dot[]) {
  const most = Math.max(...dots.map(({ distance }) => distance), 0.1);
  const [x, y] = [linearScale([0, most], inner.x), shareAxis('p')];
  const current = rowOf(tableOfState(store.state), store.state);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => share * most);
  const axis = { scale: x, ticks, format: (value: number) => tidy(value, 2), label: 'distance, in standard deviations' };
  const spearman = found.spearmanOfBoundaryAndP;
  const title = `p against distance of ${dots.length} rows${spearman === null ? '' : `, rank correlation ${spearman.toFixed(2)}`}`;
  const marks = dots.map(({ index, distance, p }) => {
    const chosen = index === current;
    return svg`<circle class=${chosen ? 'dot chosen' : index === ui.row ? 'dot hovered' : 'dot'} cx=${x(distance)} cy=${y.scale(p)} r=${chosen ? 6 : 4}
      @pointerenter=${() => point({ row: index })} @pointerleave=${() => point({ row: undefined })}
      @click=${() => store.set({ tableRow: index, tableX: [] })}></circle>`;
  });
  return chart(axis, y, title, svg`${marks}`);
}

/** A description of the axes. For a regression, a prediction counts as different only if it is outside the tolerance. */
const axesWords = (state: Readonly<State>): string =>
  state.tableModel === 'regression'
    ? 'its distance to the nearest prediction outside the tolerance, and the probability that the prediction stays within it under this noise'
    : 'its distance to the nearest different prediction, and the probability that its prediction survives this noise';

export function scatterPanel(parts: FigureParts) {
  const { store, answers, keys, ui } = parts;
  const found = answers.rows?.value;
  const dots = found ? dotsOf(found) : [];
  const table = tableOfState(store.state);
  const read = dots.find(({ index }) => index === ui.row);
  const spearman = found?.spearmanOfBoundaryAndP;
  return panel({
    id: 'scatter',
    title: 'Distance against p',
    words: `Each dot is a ${table.one}: ${axesWords(store.state)}. Press a dot to choose it.`,
    figure: found ? scatter(parts, found, dots) : waiting,
    stale: isStale(answers.rows, keys.rows),
    controls: html`<p class="reading" data-spearman=${spearman ?? ''}>
      ${read ? html`${table.one} ${read.index}: distance ${tidy(read.distance)}, p ${percent(read.p)}. ` : ''}
      ${typeof spearman === 'number' ? `The rank correlation of distance and p is ${spearman.toFixed(2)}: 1 would mean that both rank the ${table.one}s in the same order.` : ''}
      ${found && dots.length < found.points.length ? `Not shown: ${found.points.length - dots.length} of ${found.points.length} ${table.one}s, for which no different prediction was found nearby.` : ''}
    </p>`,
    source: html`After figure 3 of ${naturalPerturbations}.`,
    csv: found && (() => csvOf(dots)),
  });
}

const drawnLine = (x: Scale, y: Scale, values: readonly (number | null)[]) =>
  line<number | null>()
    .defined((value) => value !== null)
    .x((_, i) => x(scales[i]!))
    .y((value) => y(value!))(values) ?? '';

function curveWords(state: Readonly<State>): string {
  const category = changing(state);
  return `p of this ${tableOfState(state).one} under less and more noise. ${
    category
      ? `The ${category} changes with probability ${tidy(state.tableChange, 2)} at every sigma, so p need not start at 100%.`
      : 'Very close to a different prediction, even little noise changes some noisy samples.'
  }`;
}

export function curvePanel({ store, answers, keys, ui, point }: FigureParts) {
  const rows = answers.curve?.value;
  const x = logScale([scales[0]!, scales.at(-1)!], inner.x);
  const y = shareAxis('p');
  const content =
    rows &&
    svg`<path d=${drawnLine(
      x,
      y.scale,
      rows.map(({ p }) => p),
    )} .style=${'stroke: var(--ink); stroke-width: 2.5'}></path>
    ${cursor(x, ui.readCurve === undefined ? store.state.tableSigma : scales[ui.readCurve]!)}`;
  const reading = {
    at: scales,
    onRead: (readCurve: number | undefined) => point({ readCurve }),
    onPress: (i: number) => store.set({ tableSigma: scales[i]! }),
  };
  const read = rows && ui.readCurve !== undefined ? rows[ui.readCurve] : undefined;
  return panel({
    id: 'curves',
    title: 'p against the noise',
    words: curveWords(store.state),
    figure: rows ? chart(scaleAxis(x), y, 'p against the scale of the noise', content!, reading) : waiting,
    stale: isStale(answers.curve, keys.curve),
    controls: html`<p class="reading">
      ${read ? `sigma ${tidy(scales[ui.readCurve!]!)}: p ${percentOf(read)}` : rows ? 'Point at the chart to read values; press to set sigma.' : nothing}
    </p>`,
    source: html`Definition of p: ${naturalPerturbations}, section 3.`,
    csv: rows && (() => csvOf(rows.map(({ p, pFail }, i) => ({ sigma: scales[i]!, p, pFail })))),
  });
}

function ranksWords(state: Readonly<State>): string {
  const category = changing(state);
  return `Near 1, distance orders the ${tableOfState(state).one}s as p does. ${
    category
      ? `It leaves out changes of the ${category}, which matter most if sigma is small.`
      : 'Noise that reaches no different prediction leaves p at 100%; large noise reaches more than the nearest one.'
  }`;
}

function ranksReading(ranks: readonly (number | null)[], at: number | undefined): string {
  if (at === undefined) return 'Point at the chart to read values.';
  return `sigma ${tidy(scales[at]!)}: ${ranks[at]?.toFixed(2) ?? 'all p are equal'}`;
}

export function ranksPanel({ answers, keys, ui, point, store }: FigureParts) {
  const ranks = answers.ranks?.value;
  const x = logScale([scales[0]!, scales.at(-1)!], inner.x);
  const y = {
    scale: linearScale([-0.2, 1], inner.y),
    ticks: [0, 0.25, 0.5, 0.75, 1],
    format: (value: number) => tidy(value),
    label: 'rank correlation',
  };
  const content =
    ranks &&
    svg`<path d=${drawnLine(x, y.scale, ranks)} .style=${'stroke: var(--accent); stroke-width: 2.5'}></path>
    ${cursor(x, ui.readRanks === undefined ? store.state.tableSigma : scales[ui.readRanks]!)}`;
  const reading = { at: scales, onRead: (readRanks: number | undefined) => point({ readRanks }) };
  return panel({
    id: 'ranks',
    title: 'When distance is enough',
    words: ranksWords(store.state),
    figure: ranks
      ? chart(scaleAxis(x), y, 'rank correlation of distance and p against the scale of the noise', content!, reading)
      : waiting,
    stale: isStale(answers.ranks, keys.ranks),
    controls: html`<p class="reading">${ranks ? ranksReading(ranks, ui.readRanks) : nothing}</p>`,
    source: html`After figure 4 of ${naturalPerturbations}.`,
    csv: ranks && (() => csvOf(ranks.map((rank, i) => ({ sigma: scales[i]!, rank })))),
  });
}
