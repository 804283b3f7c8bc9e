// SPDX-License-Identifier: MIT
// Error against cost: the errors of each estimator with many seeds, and their root mean square.
import { line } from 'd3-shape';
import { html, nothing, svg } from 'lit';
import { chart, cursor, inner } from './chart.js';
import { dashOf, lineColour } from './legend.js';
import { csvOf } from './save.js';
import { logScale } from './scale.js';
import { passes, power, tidy } from './words.js';

/** Errors of estimates against their cost. */
export interface Convergence {
  /** The true p. */
  truth: number;
  /** For each kind of estimator, runs at different costs, with the errors of different seeds. */
  families: { name: string; runs: { cost: number; errors: number[] }[] }[];
}

/** Lower end of the vertical axis. */
const least = 1e-5;
const rootMeanSquare = (errors: readonly number[]) =>
  Math.sqrt(errors.reduce((sum, error) => sum + error * error, 0) / errors.length);

/** `read` is the index of the budget under the pointer. */
interface ConvergenceView {
  hovered: string | undefined;
  read: number | undefined;
  onRead(read: number | undefined): void;
}

/** The costs that the pointer can select: those of the first family, which are close to those of the others. */
const readCosts = ({ families }: Convergence): number[] => families[0]!.runs.map(({ cost }) => cost);

export function convergenceReading(convergence: Convergence, read: number | undefined) {
  if (read === undefined) return 'Point at the chart to read root mean square errors.';
  return convergence.families.map(({ name, runs }) => {
    const { cost, errors } = runs[read]!;
    return html`<span>${name}: <b>${tidy(rootMeanSquare(errors), 2)}</b> for ${passes(cost)};</span> `;
  });
}

export function convergenceFigure(convergence: Convergence, { hovered, read, onRead }: ConvergenceView) {
  const { families } = convergence;
  const costs = families.flatMap(({ runs }) => runs.map(({ cost }) => cost));
  const x = logScale([Math.min(...costs) * 0.8, Math.max(...costs) * 1.2], inner.x);
  const y = logScale([least, 1], inner.y, true);
  const ticks = [10, 100, 1000].filter((tick) => tick >= x.domain[0] && tick <= x.domain[1]);
  const drawn = line<{ cost: number; errors: number[] }>()
    .defined(({ errors }) => errors.length > 0)
    .x(({ cost }) => x(cost))
    .y(({ errors }) => y(rootMeanSquare(errors)));
  return chart(
    { scale: x, ticks, format: tidy, label: 'cost, in passes through the network' },
    { scale: y, ticks: [1, 0.1, 0.01, 0.001, 1e-4, 1e-5], format: power, label: 'absolute error of p' },
    `Error against cost for ${families.map(({ name }) => name).join(', ')}`,
    svg`${families.map(({ name, runs }, i) => {
      const quiet = hovered !== undefined && hovered.split(':')[0] !== name;
      return svg`<g .style="opacity: ${quiet ? 0.15 : 1}; color: ${lineColour(i)}">
        ${runs.flatMap(({ cost, errors }) => errors.map((error) => svg`<circle cx=${x(cost)} cy=${y(error)} r="2" .style=${'fill: currentColor; opacity: 0.3'}></circle>`))}
        <path d=${drawn(runs) ?? ''} .style="stroke: currentColor; stroke-width: 2; stroke-dasharray: ${dashOf(i)}"></path>
      </g>`;
    })}
    ${read === undefined ? nothing : cursor(x, readCosts(convergence)[read]!)}`,
    { at: readCosts(convergence), onRead },
  );
}

export const convergenceCsv = ({ truth, families }: Convergence): string =>
  csvOf(
    families.flatMap(({ name, runs }) =>
      runs.flatMap(({ cost, errors }) => errors.map((error) => ({ estimator: name, cost, error, truth }))),
    ),
  );
