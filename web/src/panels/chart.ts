// SPDX-License-Identifier: MIT
// The frame of every chart: labelled axes and a plot area.
import { nothing, svg, type SVGTemplateResult } from 'lit';
import type { Scale } from './scale.js';

interface Axis {
  scale: Scale;
  ticks: readonly number[];
  format(value: number): string;
  label: string;
}

const plot = { width: 380, height: 250, left: 56, right: 12, top: 10, bottom: 42 };

export const inner = {
  x: [plot.left, plot.width - plot.right] as [number, number],
  y: [plot.height - plot.bottom, plot.top] as [number, number],
};

const xAxis = ({ scale, ticks, format, label }: Axis) => svg`
  <g class="axis">
    ${ticks.map(
      (tick) => svg`<line x1=${scale(tick)} x2=${scale(tick)} y1=${inner.y[0]} y2=${inner.y[0] + 4}></line>
        <text x=${scale(tick)} y=${inner.y[0] + 17} text-anchor="middle">${format(tick)}</text>`,
    )}
    <text class="label" x=${(inner.x[0] + inner.x[1]) / 2} y=${plot.height - 6} text-anchor="middle">${label}</text>
  </g>`;

const yAxis = ({ scale, ticks, format, label }: Axis) => svg`
  <g class="axis">
    ${ticks.map(
      (tick) => svg`<line class="grid" x1=${inner.x[0]} x2=${inner.x[1]} y1=${scale(tick)} y2=${scale(tick)}></line>
        <text x=${inner.x[0] - 6} y=${scale(tick) + 4} text-anchor="end">${format(tick)}</text>`,
    )}
    <text class="label" transform="translate(12 ${(inner.y[0] + inner.y[1]) / 2}) rotate(-90)" text-anchor="middle">${label}</text>
  </g>`;

/** Reads values with the pointer. The callbacks receive the index of the position in `at` that is nearest to the pointer. */
export interface Reading {
  at: readonly number[];
  onRead(index: number | undefined): void;
  onPress?(index: number): void;
}

/** The index of the position nearest to the pointer on the screen. */
function nearest({ currentTarget, clientX }: MouseEvent, { scale }: Axis, at: readonly number[]): number {
  const { left, width } = (currentTarget as Element).getBoundingClientRect();
  const x = inner.x[0] + ((clientX - left) / width) * (inner.x[1] - inner.x[0]);
  const away = at.map((place) => Math.abs(scale(place) - x));
  return away.indexOf(Math.min(...away));
}

const sensor = (x: Axis, { at, onRead, onPress }: Reading) => svg`
  <rect class="sensor ${onPress ? 'press' : ''}" x=${inner.x[0]} y=${inner.y[1]} width=${inner.x[1] - inner.x[0]}
    height=${inner.y[0] - inner.y[1]} @pointermove=${(event: MouseEvent) => onRead(nearest(event, x, at))}
    @pointerleave=${() => onRead(undefined)} @click=${(event: MouseEvent) => onPress?.(nearest(event, x, at))}></rect>`;

/** A dotted line at the value under the pointer. */
export const cursor = (x: Scale, value: number) => svg`
  <line class="cursor" x1=${x(value)} x2=${x(value)} y1=${inner.y[0]} y2=${inner.y[1]}></line>`;

/** `title` is the text for screen readers. Without `reading`, the content handles the pointer. */
export const chart = (x: Axis, y: Axis, title: string, content: SVGTemplateResult, reading?: Reading) => svg`
  <svg class="chart" viewBox="0 0 ${plot.width} ${plot.height}" role="img" aria-label=${title}>
    ${xAxis(x)} ${yAxis(y)}
    <svg x=${inner.x[0]} y=${inner.y[1]} width=${inner.x[1] - inner.x[0]} height=${inner.y[0] - inner.y[1]}
      viewBox="${inner.x[0]} ${inner.y[1]} ${inner.x[1] - inner.x[0]} ${inner.y[0] - inner.y[1]}">${content}</svg>
    ${reading ? sensor(x, reading) : nothing}
  </svg>`;
