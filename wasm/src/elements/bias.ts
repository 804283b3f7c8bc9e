// SPDX-License-Identifier: MIT
// <probust-bias>: p by class, with intervals adjusted for the number of classes (the command bias).
import { html } from 'lit';
import { bias, type Bias } from '../analysis.js';
import type { Probust } from '../api.js';
import { usage } from '../errors.js';
import { className, ProbustElement, type Answer } from './base.js';
import { theme } from './theme.js';
import { track } from './track.js';
import { interval, percent, plural } from './words.js';

export interface BiasView {
  bias: Bias;
  names: (label: number) => string;
}

/** A list of names for a sentence: "3 or 5", "3, 5 or one of 4 others". */
function others(near: readonly string[]): string {
  const all = near.length > 3 ? [...near.slice(0, 2), `one of ${near.length - 2} others`] : near;
  return all.length > 1 ? `${all.slice(0, -1).join(', ')} or ${all.at(-1)}` : all.join('');
}

function sentence({ fragile, by, largestDifference }: Bias, names: (label: number) => string): string {
  const [lowest, ...near] = fragile.map(names);
  if (!largestDifference) return `Classes are ${by === 'label' ? 'labels' : 'predictions'}.`;
  if (near.length === 0) return `${lowest} is the most fragile class.`;
  return `${lowest} has the lowest mean p, but the most fragile class may be ${others(near)}.`;
}

export class ProbustBias extends ProbustElement<BiasView> {
  static override styles = theme;

  protected override async present(answer: Answer, probust: () => Promise<Probust>): Promise<BiasView> {
    const [first] = await bias(await probust(), answer.rows);
    if (first === undefined) throw usage('there are no rows', 'give rows of several points');
    return { bias: first, names: (label) => className(answer, label) };
  }

  protected override show({ bias, names }: BiasView): unknown {
    return html`<table part="table">
        <thead>
          <tr>
            <th>class</th>
            <th class="number">mean p</th>
            <th aria-hidden="true"></th>
            <th class="number">points</th>
          </tr>
        </thead>
        <tbody>
          ${bias.classes.map(
            ({ class: label, mean, ciLow, ciHigh, count }) =>
              html`<tr part="row">
                <th scope="row">${names(label)}</th>
                <td class="number" title=${interval(ciLow, ciHigh)}>${percent(mean)}</td>
                <td class="bar">${track(mean, ciLow, ciHigh)}</td>
                <td class="number">${count}</td>
              </tr>`,
          )}
        </tbody>
      </table>
      <p class="muted" part="sentence">
        ${sentence(bias, names)} ${plural(bias.all.count, 'point')}, ${bias.estimator}, ${bias.noise};
        ${Math.round(1000 * bias.confidence) / 10}% intervals.
      </p>`;
  }
}
