// SPDX-License-Identifier: MIT
// The most fragile class: a reply to the user's guess, and the mean p of each class with its interval.
import { html, nothing, svg } from 'lit';
import type { Row } from 'probust';
import type { Bias } from 'probust/analysis';
import { percent } from '../../panels/words.js';

type Name = (of: number) => string;

/** A sentence names at most this many other classes. */
const mostNamed = 2;

/** The class with the lowest mean, and those that do not differ from it significantly. */
function lowestOf({ classes, fragile }: Bias) {
  const [lowest, ...near] = fragile.map((label) => classes.find((each) => each.class === label)!);
  return { lowest, near };
}

/** A text such as "9 (80.6%), 3 (82.0%) and 4 more classes". */
function listed(near: Bias['classes'], name: Name): string {
  const named = near.slice(0, mostNamed).map((each) => `${name(each.class)} (${percent(each.mean)})`);
  const more = near.length - named.length;
  const all = more > 0 ? [...named, `${more} more ${more === 1 ? 'class' : 'classes'}`] : named;
  return all.length > 1 ? `${all.slice(0, -1).join(', ')} and ${all.at(-1)}` : all.join('');
}

/** The result in a sentence. */
export function finding(bias: Bias, name: Name): string {
  const { lowest, near } = lowestOf(bias);
  if (!lowest) return 'p could not be computed for any class.';
  const [of, mean] = [name(lowest.class), percent(lowest.mean)];
  if (near.length === 0) return `${of} is the most fragile class: its mean p is ${mean}.`;
  const count = bias.all.count.toLocaleString('en');
  return `${of} has the lowest mean p, ${mean}, but with ${count} points the difference from ${listed(near, name)} is not significant.`;
}

/** A sentence about whether the guess was right. */
export function verdict(bias: Bias, guessed: number): string {
  const { lowest, near } = lowestOf(bias);
  const own = bias.classes.find((each) => each.class === guessed);
  if (!own || own.mean === null) return 'p could not be computed for this class.';
  if (own === lowest) return near.length === 0 ? 'That is right.' : 'That is probably right.';
  return `${near.includes(own) ? 'That may be right' : 'That is wrong'}: its mean p is ${percent(own.mean)}.`;
}

/** The mean and its interval on a line from 0 to 1. */
const track = ({ mean, ciLow, ciHigh }: Bias['classes'][number]) => svg`
  <svg class="track" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">
    <line class="all" x2="100" y1="7" y2="7"></line>
    <line class="interval" x1=${100 * (ciLow ?? 0)} x2=${100 * (ciHigh ?? 0)} y1="7" y2="7"></line>
    <rect class="mean" x=${100 * (mean ?? 0) - 0.75} y="1" width="1.5" height="12"></rect>
  </svg>`;

const row = (each: Bias['classes'][number], name: Name) => {
  const interval = each.ciLow === null ? 'no interval' : `${percent(each.ciLow)} to ${percent(each.ciHigh)}`;
  return html`<tr>
    <th scope="row">${name(each.class)}</th>
    <td>${percent(each.mean)}</td>
    <td class="wide" title=${interval}>${track(each)}<span class="visually-hidden">${interval}</span></td>
    <td>${each.count}</td>
  </tr>`;
};

/** The accuracies without noise and under noise, if there are labels. */
export function accuracies(rows: readonly Row[]) {
  const labelled = rows.filter(({ label, pLabel }) => label !== null && pLabel != null);
  if (labelled.length === 0) return nothing;
  const share = (of: (row: Row) => number) => percent(labelled.reduce((sum, row) => sum + of(row), 0) / labelled.length);
  return html`<p data-testid="accuracies">
    The accuracy is ${share(({ label, predicted }) => Number(label === predicted))} without noise, and
    ${share(({ pLabel }) => pLabel!)} under noise.
  </p>`;
}

export const fragileReply = (bias: Bias, guessed: number, name: Name) =>
  html`<p class="reply" tabindex="-1"><b>You said ${name(guessed)}. ${verdict(bias, guessed)}</b> ${finding(bias, name)}</p>
    <table class="fragile">
      <thead>
        <tr>
          <th>${bias.by === 'label' ? 'true class' : 'prediction'}</th>
          <th>mean p</th>
          <th class="wide">interval, 0 to 100%</th>
          <th>points</th>
        </tr>
      </thead>
      <tbody>
        ${bias.classes.map((each) => row(each, name))}
      </tbody>
    </table>
    <p class="small muted">
      Each is a ${percent(bias.confidence)} interval, so that all ${bias.compared} intervals together contain the true means with
      95% probability.
    </p>`;
