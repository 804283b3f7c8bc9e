// SPDX-License-Identifier: MIT
// p against the scale of the noise, for every estimator; or 1 - p on a logarithmic axis.
import { scaleLinear, scaleLog } from 'd3-scale';
import { area, line } from 'd3-shape';
import { html, nothing, svg } from 'lit';
import { guard } from 'lit/directives/guard.js';
import type { Row } from 'probust';
import type { Kept } from '../engine/latest.js';
import type { Curves } from '../labs/plane/answers.js';
import type { Store } from '../state/store.js';
import { chart, inner } from './chart.js';
import { panel, waiting } from './panel.js';
import { csvOf } from './save.js';
import { percent, power, tidy } from './words.js';

export interface CurvesView {
  curves: Curves;
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
    const scale = scaleLinear([0, 1], inner.y);
    return { scale, ticks: [0, 0.25, 0.5, 0.75, 1], format: (value: number) => percent(value).replace('.0', ''), label: 'p' };
  }
  const scale = scaleLog([least, 1], inner.y).clamp(true);
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

export function curvesFigure(view: CurvesView) {
  const { curves, sigma, hovered, failure } = view;
  const x = scaleLog([curves.sigmas[0]!, curves.sigmas.at(-1)!], inner.x);
  const vertical = verticalAxis(failure);
  const { drawn, band } = paths(view, x, vertical.scale);
  const forms = [...curves.byEstimator.keys()];
  const [truth, ...others] = forms;
  // The band belongs to the hovered estimator, or to plain counting.
  const banded = others.includes(hovered ?? '') ? hovered! : (others.find((form) => form.startsWith('mc:')) ?? truth!);
  const ticks = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2].filter(
    (tick) => tick >= curves.sigmas[0]! * 0.99 && tick <= curves.sigmas.at(-1)! * 1.01,
  );
  return chart(
    { scale: x, ticks, format: tidy, label: 'sigma, in units of the data' },
    vertical,
    `${failure ? 'Probability that the answer changes' : 'Probability that the answer is kept'} against sigma, for ${forms.length} estimators`,
    svg`
      ${banded ? svg`<path d=${band(curves.byEstimator.get(banded)!) ?? ''} style="fill: var(--muted); opacity: 0.16"></path>` : nothing}
      ${others.map((form, i) => {
        const opacity = hovered === undefined ? 0.85 : hovered === form ? 1 : 0.15;
        return svg`<path d=${drawn(curves.byEstimator.get(form)!) ?? ''}
          style="stroke: var(--line-${i % 8}); stroke-width: ${hovered === form ? 3 : 1.6}; opacity: ${opacity}; stroke-dasharray: ${dashOf(i)}"></path>`;
      })}
      <path d=${drawn(curves.byEstimator.get(truth!)!) ?? ''} style="stroke: var(--ink); stroke-width: 2.5"></path>
      <line x1=${x(sigma)} x2=${x(sigma)} y1=${inner.y[0]} y2=${inner.y[1]} style="stroke: var(--ink); stroke-dasharray: 2 3"></line>`,
  );
}

const dashes = ['none', '6 3', '2 3', '8 3 2 3', '12 4', '1 4', '5 2', '3 5'];
export const dashOf = (i: number): string => dashes[i % dashes.length]!;

export interface Key {
  form: string;
  /** Index of the line; undefined for the truth. */
  line: number | undefined;
  /** Its label, if that is not its form. */
  name?: string;
}

/** The legend; hovering over an entry highlights its line. */
export const keyOfLines = (keys: readonly Key[], hovered: string | undefined, onHover: (form: string | undefined) => void) =>
  html`<div class="keys">
    ${keys.map(({ form, line: at, name = at === undefined ? 'true p' : form }) => {
      const colour = at === undefined ? 'var(--ink)' : `var(--line-${at % 8})`;
      return html`<span
        class="key ${hovered === form ? 'hovered' : ''}"
        @pointerenter=${() => onHover(form)}
        @pointerleave=${() => onHover(undefined)}
        ><svg width="22" height="8" aria-hidden="true">
          <line
            x1="0"
            x2="22"
            y1="4"
            y2="4"
            style="stroke: ${colour}; stroke-width: 2.5; stroke-dasharray: ${at === undefined ? 'none' : dashOf(at)}"
          ></line></svg
        >${name}</span
      >`;
    })}
  </div>`;

export const curvesCsv = ({ sigmas, byEstimator }: Curves): string =>
  csvOf(
    [...byEstimator].flatMap(([estimator, rows]) =>
      rows.map(({ p, pFail, ciLow, ciHigh, forwards, backwards, status }, i) => ({
        sigma: sigmas[i],
        estimator,
        p,
        pFail,
        ciLow,
        ciHigh,
        forwards,
        backwards,
        status,
      })),
    ),
  );

/** The lab's inputs to the panel. */
export interface CurvesPanelView {
  store: Store;
  curves: Kept<Curves> | undefined;
  /** Key of the current request. */
  key: string;
  keys: readonly Key[];
  sigma: number;
  source: unknown;
  ui: { form: string | undefined };
  point(change: { form: string | undefined }): void;
}

export const curvesPanel = ({ store, curves, key, keys, sigma, source, ui: { form: hovered }, point }: CurvesPanelView) => {
  const { failure } = store.state;
  return panel({
    id: 'curves',
    title: 'p against sigma',
    words:
      'Every estimator at every size of the noise; the band is the 95 % interval of counting. The softmax line is flat: confidence does not know how much noise there will be.',
    figure: guard([curves?.value, sigma, failure, hovered], () =>
      curves ? curvesFigure({ curves: curves.value, sigma, failure, hovered }) : waiting,
    ),
    stale: curves?.key !== key,
    controls: html`${keyOfLines(keys, hovered, (form) => point({ form }))}
      <button class="chip" aria-pressed=${failure} @click=${() => store.set({ failure: !failure })}>
        rare failures: log(1 − p)
      </button>`,
    source: html`Definition 1 and section 4 of ${source}.`,
    csv: curves && (() => curvesCsv(curves.value)),
  });
};
