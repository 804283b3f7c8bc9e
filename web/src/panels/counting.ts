// SPDX-License-Identifier: MIT
// 1 - p, computed from the same z and R in four ways, next to the true value.
import { svg } from 'lit';
import type { Row } from 'probust';
import { csvOf } from './save.js';
import { linearScale } from './scale.js';
import { percent } from './words.js';

/** 1 - p of the linearisation, computed in different ways. */
export interface Counted {
  /** The bound of Boole's inequality: the sum of the rivals' probabilities. */
  union: number;
  /** The value under the assumption that the rivals are independent. */
  product: number;
  sigmoid: Row;
  normal: Row;
  truth: Row;
}

const width = 380;
const rowHeight = 34;

interface Bar {
  name: string;
  note: string;
  value: number;
}

const barsOf = ({ union, product, sigmoid, normal, truth }: Counted): Bar[] => [
  { name: 'union bound', note: 'the sum over the rivals counts overlaps twice', value: union },
  { name: 'independent product', note: 'treats the rivals as independent', value: product },
  { name: 'taylor_mvs', note: 'mv-sigmoid: a closed formula in z alone', value: sigmoid.pFail ?? NaN },
  { name: 'normal CDF', note: 'from z and R, counts overlaps once', value: normal.pFail ?? NaN },
  { name: 'the truth', note: 'with curved boundaries', value: truth.pFail ?? NaN },
];

/** Position of a bar's label: after the bar, or after the mark of the true value if the two would overlap. */
const labelAt = (end: number, truth: number) => (end < truth && end > truth - 52 ? truth : end);

export function countingFigure(counted: Counted) {
  const bars = barsOf(counted);
  const most = Math.max(...bars.map(({ value }) => value).filter(Number.isFinite), 1e-12);
  const truth = bars.at(-1)!.value;
  const x = linearScale([0, most], [0, width - 64]);
  const bottom = bars.length * rowHeight + 4;
  return svg`<svg class="chart" viewBox="0 0 ${width} ${bottom + 36}" role="img"
      aria-label="Probability that the prediction changes: ${bars.map(({ name, value }) => `${name} ${percent(value)}`).join(', ')}">
${bars.map(({ name, note, value }, i) => {
  const y = i * rowHeight;
  const strong = i === bars.length - 1;
  return svg`<text class="strong" x="0" y=${y + 12}>${name}<tspan dx="8" .style=${'fill: var(--muted)'}>${note}</tspan></text>
        <rect x="0" y=${y + 17} width=${Math.max(1, x(value) || 0)} height="10" rx="2" .style="fill: ${strong ? 'var(--ink)' : 'var(--accent)'}; opacity: ${strong ? 1 : 0.75}"></rect>
        <line x1=${x(truth)} x2=${x(truth)} y1=${y + 15} y2=${y + 29} .style=${'stroke: var(--ink); stroke-width: 2'}></line>
        <text class="strong" x=${labelAt(x(value) || 0, x(truth)) + 6} y=${y + 27}>${percent(value)}</text>`;
})}
    <g class="axis">
      <line x1="0" x2=${x(most)} y1=${bottom} y2=${bottom}></line>
      ${[0, most].map((tick) => svg`<line x1=${x(tick)} x2=${x(tick)} y1=${bottom} y2=${bottom + 4}></line>`)}
      <text x="0" y=${bottom + 17}>0%</text>
      <text x=${x(most)} y=${bottom + 17} text-anchor="middle">${percent(most)}</text>
      <text class="label" x=${x(most) / 2} y=${bottom + 32} text-anchor="middle">probability that the prediction changes</text>
    </g>
  </svg>`;
}

export const countingCsv = (counted: Counted): string =>
  csvOf(barsOf(counted).map(({ name, value }) => ({ name, pFail: value })));
