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

function sentence({ largestDifference, by }: Bias, names: (label: number) => string): string {
  if (!largestDifference) return `Classes are ${by === 'label' ? 'labels' : 'predictions'}.`;
  const { most, least, ciLow } = largestDifference;
  return `${names(least)} is the most fragile class, ${names(most)} the most robust${
    ciLow !== null && ciLow > 0 ? '' : '; the difference may be chance'
  }.`;
}

export class ProbustBias extends ProbustElement<BiasView> {
  static override styles = theme;

  protected override async present(answer: Answer, probust: () => Promise<Probust>): Promise<BiasView> {
    const [first] = await bias(await probust(), answer.rows);
    if (first === undefined) throw usage('rows: are none', 'give rows of several points');
    return { bias: first, names: (label) => className(answer, label) };
  }

  protected override show({ bias, names }: BiasView): unknown {
    return html`<table part="table">
        <thead>
          <tr>
            <th>class</th>
            <th class="number">mean p</th>
            <th class="wide" aria-hidden="true"></th>
            <th class="number">points</th>
          </tr>
        </thead>
        <tbody>
          ${bias.classes.map(
            ({ class: label, mean, ciLow, ciHigh, count }) =>
              html`<tr part="row">
                <th scope="row">${names(label)}</th>
                <td class="number" title=${interval(ciLow, ciHigh)}>${percent(mean)}</td>
                <td class="bar wide">${track(mean, ciLow, ciHigh)}</td>
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
