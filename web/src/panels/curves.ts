// SPDX-License-Identifier: MIT
// p against the scale of the noise for every estimator, or 1 - p on a logarithmic axis.
import { area, line } from 'd3-shape';
import { html, nothing, svg } from 'lit';
import { guard } from 'lit/directives/guard.js';
import type { Row } from 'probust';
import { chart, cursor, inner } from './chart.js';
import { dashOf, legend, lineColour, type LegendEntry } from './legend.js';
import { panel, waiting } from './panel.js';
import { csvOf } from './save.js';
import { linearScale, logScale } from './scale.js';
import { averageCase } from './sources.js';
import { failurePercentOf, percent, percentOf, power, tidy } from './words.js';

export interface Curves {
  sigmas: readonly number[];
  /** The rows of each estimator, one per scale. The first estimator is the reference for the others. */
  byEstimator: ReadonlyMap<string, Row[]>;
}

interface CurvesActions {
  onRead(read: number | undefined): void;
  onSigma(sigma: number): void;
}

interface CurvesView extends CurvesActions {
  curves: Curves;
  /** Index of the scale under the pointer. */
  read: number | undefined;
  /** The unit of sigma. */
  unit: string;
  sigma: number;
  /** Whether to draw 1 - p on a logarithmic axis. */
  failure: boolean;
  hovered: string | undefined;
}

/** Lower end of the logarithmic axis. */
const least = 1e-6;

const valueOf = ({ p, pFail }: Row, failure: boolean) => (failure ? pFail : p);

function verticalAxis(failure: boolean) {
  if (!failure) {
    const scale = linearScale([0, 1], inner.y);
    return { scale, ticks: [0, 0.25, 0.5, 0.75, 1], format: (value: number) => percent(value).replace('.0', ''), label: 'p' };
  }
  const scale = logScale([least, 1], inner.y, true);
  return { scale, ticks: [1, 1e-2, 1e-4, 1e-6], format: power, label: '1 − p' };
}

function paths({ curves, failure }: CurvesView, x: (sigma: number) => number, y: (share: number) => number) {
  const shown = (value: number | null | undefined): value is number => typeof value === 'number' && Number.isFinite(value);
  const drawn = line<Row>()
    .defined((row) => shown(valueOf(row, failure)))
    .x((_, i) => x(curves.sigmas[i]!))
    .y((row) => y(valueOf(row, failure)!));
  const band = area<Row>()
    .defined(({ ciLow, ciHigh }) => shown(ciLow) && shown(ciHigh))
    .x((_, i) => x(curves.sigmas[i]!))
    .y0(({ ciLow }) => y(failure ? 1 - ciLow! : ciLow!))
    .y1(({ ciHigh }) => y(failure ? 1 - ciHigh! : ciHigh!));
  return { drawn, band };
}

function curvesFigure(view: CurvesView) {
  const { curves, sigma, hovered, failure, unit, read, onRead, onSigma } = view;
  const x = logScale([curves.sigmas[0]!, curves.sigmas.at(-1)!], inner.x);
  const vertical = verticalAxis(failure);
  const { drawn, band } = paths(view, x, vertical.scale);
  const forms = [...curves.byEstimator.keys()];
  const [truth, ...others] = forms;
  // The band is that of the hovered estimator or, without one, that of mc.
  const banded = others.includes(hovered ?? '') ? hovered! : (others.find((form) => form.startsWith('mc:')) ?? truth!);
  const ticks = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2].filter(
    (tick) => tick >= curves.sigmas[0]! * 0.99 && tick <= curves.sigmas.at(-1)! * 1.01,
  );
  return chart(
    { scale: x, ticks, format: tidy, label: `sigma, in ${unit}` },
    vertical,
    `${failure ? 'Probability that the prediction changes' : 'Probability that the prediction survives'} against sigma, for ${forms.length} estimators`,
    svg`
      ${banded ? svg`<path d=${band(curves.byEstimator.get(banded)!) ?? ''} .style=${'fill: var(--muted); opacity: 0.16'}></path>` : nothing}
      ${others.map((form, i) => {
        const opacity = hovered === undefined ? 0.85 : hovered === form ? 1 : 0.15;
        return svg`<path d=${drawn(curves.byEstimator.get(form)!) ?? ''}
          .style="stroke: ${lineColour(i)}; stroke-width: ${hovered === form ? 3 : 1.6}; opacity: ${opacity}; stroke-dasharray: ${dashOf(i)}"></path>`;
      })}
      <path d=${drawn(curves.byEstimator.get(truth!)!) ?? ''} .style=${'stroke: var(--ink); stroke-width: 2.5'}></path>
      <line x1=${x(sigma)} x2=${x(sigma)} y1=${inner.y[0]} y2=${inner.y[1]} .style=${'stroke: var(--ink); stroke-dasharray: 2 3'}></line>
      ${read === undefined ? nothing : cursor(x, curves.sigmas[read]!)}`,
    { at: curves.sigmas, onRead, onPress: (index) => onSigma(curves.sigmas[index]!) },
  );
}

/** The values at the scale under the pointer. */
function readingLine(curves: Curves, entries: readonly LegendEntry[], read: number | undefined, failure: boolean) {
  const sigma = read === undefined ? undefined : curves.sigmas[read];
  if (sigma === undefined) return 'Point at the chart to read values; press to set sigma.';
  const shown = failure ? failurePercentOf : percentOf;
  const values = entries.map(({ form, line, name = line === undefined ? 'true p' : form }) => {
    const row = curves.byEstimator.get(form)?.[read!];
    return row && html`<span>${name} <b>${shown(row)}</b></span>`;
  });
  return html`<span>sigma <b>${tidy(sigma)}</b>:</span> ${values}`;
}

const curvesCsv = ({ sigmas, byEstimator }: Curves): string =>
  csvOf(
    [...byEstimator].flatMap(([estimator, rows]) =>
      rows.map(({ p, pFail, ciLow, ciHigh, forwards, backwards, status, method, note }, i) => ({
        sigma: sigmas[i],
        estimator,
        p,
        pFail,
        ciLow,
        ciHigh,
        forwards,
        backwards,
        status,
        method,
        note,
      })),
    ),
  );

export interface CurvesPanelView extends CurvesActions {
  read: number | undefined;
  curves: Curves | undefined;
  /** The unit of sigma. */
  unit: string;
  stale: boolean;
  entries: readonly LegendEntry[];
  sigma: number;
  failure: boolean;
  hovered: string | undefined;
  onFailure(failure: boolean): void;
  onHover(form: string | undefined): void;
}

export function curvesPanel({ curves, stale, entries, onFailure, onHover, ...view }: CurvesPanelView) {
  const { sigma, failure, hovered, read } = view;
  return panel({
    id: 'curves',
    title: 'p against sigma',
    words:
      'All estimators against the noise scale; the band is the 95% interval of mc. The softmax line is flat, because the network’s own confidence ignores the noise.',
    figure: guard([curves, sigma, failure, hovered, read], () => (curves ? curvesFigure({ curves, ...view }) : waiting)),
    stale,
    controls: html`${legend(entries, hovered, onHover)}
      <p class="reading muted">${curves ? readingLine(curves, entries, read, failure) : nothing}</p>
      <button class="chip" aria-pressed=${failure} @click=${() => onFailure(!failure)}>rare failures: log(1 − p)</button>`,
    source: html`Definition 1 and section 4 of ${averageCase}.`,
    csv: curves && (() => curvesCsv(curves)),
  });
}
