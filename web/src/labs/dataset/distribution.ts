// SPDX-License-Identifier: MIT
// How p is distributed in each class: the share of points whose p is at most a value (empirical distribution functions).
import { html, svg } from 'lit';
import type { Row } from 'probust';
import { classColour, colourCount } from '../../draw/classes.js';
import { chart, inner } from '../../panels/chart.js';
import { dashOf } from '../../panels/legend.js';
import { linearScale } from '../../panels/scale.js';
import { percent } from '../../panels/words.js';

const classOf = ({ label, predicted }: Row): number => label ?? predicted;

/** Colours repeat after six classes; the later ones are paler. */
const strength = (of: number): number => (of < colourCount ? 1 : 0.45);

/** The values of p of each class, ascending. */
export function byClass(rows: readonly Row[]): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (const row of rows) if (row.p !== null) found.set(classOf(row), [...(found.get(classOf(row)) ?? []), row.p]);
  return new Map([...found].sort(([a], [b]) => a - b).map(([of, values]) => [of, values.sort((a, b) => a - b)]));
}

/** Steps upwards at each value. */
function steps(values: readonly number[], x: (p: number) => number, y: (share: number) => number): string {
  const parts = values.map((p, i) => `H${x(p).toFixed(1)}V${y((i + 1) / values.length).toFixed(1)}`);
  return `M${x(0)},${y(0)}${parts.join('')}H${x(1)}`;
}

/** Solid lines; dashed ones are those of the network that is compared. */
export function distributionFigure(rows: readonly Row[], compared: readonly Row[] | undefined) {
  const share = (scale: ReturnType<typeof linearScale>, label: string) => ({
    ...{ scale, ticks: [0, 0.25, 0.5, 0.75, 1], label, format: (value: number) => percent(value).replace('.0', '') },
  });
  const [x, y] = [linearScale([0, 1], inner.x), linearScale([0, 1], inner.y)];
  const lines = (of: readonly Row[], dash: string) =>
    [...byClass(of)].map(
      ([label, values]) =>
        svg`<path d=${steps(values, x, y)} stroke-dasharray=${dash} .style=${`stroke: ${classColour(label)}; stroke-width: 1.75; opacity: ${strength(label)}`}></path>`,
    );
  const content = svg`${lines(rows, '')} ${compared ? lines(compared, dashOf(1)) : ''}`;
  return chart(share(x, 'p'), share(y, 'share of the class'), 'p by class', content);
}

export const distributionKeys = (rows: readonly Row[], names: readonly string[] = []) =>
  html`<p class="keys">
    ${[...byClass(rows).keys()].map((of) => html`<span class="key"><i class="line" .style="background: ${classColour(of)}; opacity: ${strength(of)}"></i> ${names[of] ?? of}</span>`)}
  </p>`;
