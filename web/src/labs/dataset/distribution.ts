// SPDX-License-Identifier: MIT
// The empirical distribution functions of p by class: the share of points whose p is at most a value.
import { html, svg } from 'lit';
import type { Row } from 'probust';
import { classColour, colourCount } from '../../draw/classes.js';
import { chart, inner } from '../../panels/chart.js';
import { dashOf } from '../../panels/legend.js';
import { linearScale } from '../../panels/scale.js';
import { percent } from '../../panels/words.js';

const classOf = ({ label, predicted }: Row): number => label ?? predicted;

/** Colours repeat after six classes; further classes are paler. */
const strength = (of: number): number => (of < colourCount ? 1 : 0.45);

/** The values of p of each class, ascending. */
export function byClass(rows: readonly Row[]): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (const row of rows) if (row.p !== null) found.set(classOf(row), [...(found.get(classOf(row)) ?? []), row.p]);
  return new Map([...found].sort(([a], [b]) => a - b).map(([of, values]) => [of, values.sort((a, b) => a - b)]));
}

/** The path of the distribution function, which rises at each value. */
function steps(values: readonly number[], x: (p: number) => number, y: (share: number) => number): string {
  const parts = values.map((p, i) => `H${x(p).toFixed(1)}V${y((i + 1) / values.length).toFixed(1)}`);
  return `M${x(0)},${y(0)}${parts.join('')}H${x(1)}`;
}

/** Half the height of a 95% band for the whole distribution function of a class (Dvoretzky, Kiefer, Wolfowitz, Massart). */
export const halfBand = (points: number): number => Math.sqrt(Math.log(2 / 0.05) / (2 * points));

/** The outline of the band around the steps, within 0 and 1. */
function band(values: readonly number[], x: (p: number) => number, y: (share: number) => number): string {
  const edge = (shift: number) => {
    const at = (i: number) => y(Math.min(1, Math.max(0, i / values.length + shift))).toFixed(1);
    const corners = values.flatMap((p, i) => [`${x(p).toFixed(1)},${at(i)}`, `${x(p).toFixed(1)},${at(i + 1)}`]);
    return [`${x(0)},${at(0)}`, ...corners, `${x(1)},${at(values.length)}`];
  };
  const half = halfBand(values.length);
  return [...edge(half), ...edge(-half).reverse()].join(' ');
}

/** Solid lines for the network, dashed lines for the one to compare with. The marked class is highlighted and has its band. */
export function distributionFigure(rows: readonly Row[], compared: readonly Row[] | undefined, marked: number | undefined) {
  const share = (scale: ReturnType<typeof linearScale>, label: string) => ({
    ...{ scale, ticks: [0, 0.25, 0.5, 0.75, 1], label, format: (value: number) => percent(value).replace('.0', '') },
  });
  const [x, y] = [linearScale([0, 1], inner.x), linearScale([0, 1], inner.y)];
  const opacity = (of: number) => (marked === undefined ? strength(of) : of === marked ? 1 : 0.2);
  const classes = byClass(rows);
  const lines = (of: ReadonlyMap<number, number[]>, dash: string) =>
    [...of].map(
      ([label, values]) =>
        svg`<path d=${steps(values, x, y)} stroke-dasharray=${dash} .style=${`stroke: ${classColour(label)}; stroke-width: 1.75; opacity: ${opacity(label)}`}></path>`,
    );
  const chosen = marked === undefined ? undefined : classes.get(marked);
  const outline =
    chosen &&
    svg`<polygon class="band" points=${band(chosen, x, y)} .style=${`fill: ${classColour(marked!)}; opacity: 0.15`}></polygon>`;
  const content = svg`${outline ?? ''}${lines(classes, '')} ${compared ? lines(byClass(compared), dashOf(1)) : ''}`;
  return chart(share(x, 'p'), share(y, 'share of the class'), 'p by class', content);
}

/** The legend of the classes; `mark` is called with the pressed class. */
export const distributionKeys = (
  rows: readonly Row[],
  names: readonly string[] = [],
  marked: number | undefined,
  mark: (of: number) => void,
) =>
  html`<div class="keys" role="group" aria-label="Class to mark">
    ${[...byClass(rows).keys()].map((of) => html`<button class="quiet key" aria-pressed=${of === marked} @click=${() => mark(of)}><i class="line" .style="background: ${classColour(of)}; opacity: ${strength(of)}"></i> ${names[of] ?? of}</button>`)}
  </div>`;
