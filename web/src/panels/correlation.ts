// SPDX-License-Identifier: MIT
// The inputs of the normal CDF: each boundary's distance in standard deviations, and the correlations of their directions.
import { html, svg } from 'lit';
import type { Linearization } from 'probust';
import { classColour, letter, rivalOf } from '../draw/classes.js';

/** The rival class of each boundary, in the order of z. */
export const rivalsOf = ({ rivals, target }: Linearization): number[] => Array.from(rivals, (row) => rivalOf(row, target));

interface CorrelationView {
  linear: Linearization;
  rival: number | undefined;
  onRival(rival: number | undefined): void;
}

const width = 380;
const left = 34;

function cell(view: CorrelationView, classes: number[], i: number, j: number, side: number) {
  const { linear, rival, onRival } = view;
  const value = linear.R[i * classes.length + j]!;
  const lit = rival === classes[i] || rival === classes[j];
  const angle = Math.round((Math.acos(Math.max(-1, Math.min(1, value))) * 180) / Math.PI);
  const colour = value >= 0 ? 'var(--warm)' : 'var(--cold)';
  const [x, y] = [left + j * side, 24 + i * side];
  return svg`<g @pointerenter=${() => onRival(classes[i])} @pointerleave=${() => onRival(undefined)}>
    <rect x=${x + 1} y=${y + 1} width=${side - 2} height=${side - 2} rx="4"
      .style="fill: color-mix(in srgb, ${colour} ${Math.round(Math.abs(value) * 62)}%, var(--paper)); stroke: ${lit ? 'var(--ink)' : 'transparent'}; stroke-width: 2"></rect>
    <text class="strong" x=${x + side / 2} y=${y + side / 2} text-anchor="middle">${value.toFixed(2)}</text>
    ${i === j || side < 34 ? '' : svg`<text class="strong" x=${x + side / 2} y=${y + side / 2 + 15} text-anchor="middle">${angle}°</text>`}
  </g>`;
}

function bar(view: CorrelationView, classes: number[], i: number, side: number, top: number) {
  const { linear, rival, onRival } = view;
  const z = linear.z[i]!;
  const from = left + classes.length * side + 24;
  const room = width - from - 44;
  const long = (Math.min(4, Math.abs(z)) / 4) * room;
  const y = top + i * side + side / 2;
  return svg`<g @pointerenter=${() => onRival(classes[i])} @pointerleave=${() => onRival(undefined)}>
    <rect x=${from} y=${y - 9} width=${Math.max(1, long)} height="18" rx="3"
      .style="fill: ${classColour(classes[i]!)}; stroke: ${rival === classes[i] ? 'var(--ink)' : 'none'}; stroke-width: 2"></rect>
    <text class="strong" x=${from + long + 6} y=${y + 4}>${z.toFixed(2)}</text>
  </g>`;
}

export function correlationFigure(view: CorrelationView) {
  const classes = rivalsOf(view.linear);
  if (classes.length === 0) return html`<p>The noise reaches no boundary.</p>`;
  const side = Math.min(76, Math.floor(190 / classes.length));
  const height = Math.max(24 + classes.length * side + 8, 120);
  const label = (c: number, x: number, y: number) =>
    svg`<text class="strong" x=${x} y=${y} text-anchor="middle">${letter(c)}</text>`;
  return svg`<svg class="chart" viewBox="0 0 ${width} ${height}" role="img"
      aria-label="Correlations between the margins of ${classes.map(letter).join(', ')}, and their distances in standard deviations">
    ${classes.map((c, i) => [label(c, left + (i + 0.5) * side, 16), label(c, 20, 24 + (i + 0.5) * side + 4)])}
    ${classes.flatMap((_, i) => classes.map((_, j) => cell(view, classes, i, j, side)))}
    <text x=${left + classes.length * side + 24} y="16">z, in units of sigma</text>
    ${classes.map((_, i) => bar(view, classes, i, side, 24))}
  </svg>`;
}
