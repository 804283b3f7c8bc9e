// SPDX-License-Identifier: MIT
// The value of p, the kind of estimate, and the predictions of the noisy samples.
import { css, html, nothing } from 'lit';
import type { Row } from 'probust';
import { classColour } from '../../draw/classes.js';
import { kindOf, marks, percent, percentOf, reasonOf } from '../../panels/words.js';
import { bigNumber, bigNumberStyles } from '../big-number.js';
import type { Quick } from './answers.js';
import { patternOf } from './paint.js';

export type Label = (of: number) => string;

/** The name of a class; its index in the model if it has no name. */
export const labelBy =
  (names: readonly string[]): Label =>
  (of) =>
    of < 0 ? 'no number' : (names[of] ?? String(of));

/** Index of a class, for places without room for a name. */
export const indexLabel = labelBy([]);

/** The text for screen readers. */
export function spoken({ row, asked, cloud }: Quick, label: Label): string {
  const [first] = sharesOf(cloud.predicted).filter(({ of }) => of !== row.target);
  const rest = first ? ` Most of the others get ${label(first.of)}.` : '';
  return `${percentOf(row)} of ${asked.copies} noisy samples keep the prediction ${label(row.target)} at sigma ${asked.sigma}.${rest}`;
}

interface Share {
  of: number;
  share: number;
}

/** The share of each class among the predictions, largest first. */
function sharesOf(predicted: ArrayLike<number>): Share[] {
  const counts = new Map<number, number>();
  for (let i = 0; i < predicted.length; ++i) counts.set(predicted[i]!, (counts.get(predicted[i]!) ?? 0) + 1);
  return [...counts]
    .map(([of, count]) => ({ of, share: count / predicted.length }))
    .sort((a, b) => b.share - a.share || a.of - b.of);
}

const interval = ({ ciLow, ciHigh }: Row): string =>
  ciLow === null || ciHigh === null ? '' : `: ${percent(ciLow)} to ${percent(ciHigh)}`;

interface NumberView {
  quick: Quick | undefined;
  stale: boolean;
  softmax: Row | undefined;
  label: Label;
  /** The true class, if it is known. */
  right: number | undefined;
}

/** A warning if the prediction without noise is wrong, because a large p is then no good sign. */
function wrongLine({ row, cloud }: Quick, right: number | undefined, label: Label) {
  if (right === undefined || right === row.target) return nothing;
  const correct = sharesOf(cloud.predicted).find(({ of }) => of === right)?.share ?? 0;
  return html`<p class="small" data-correct=${correct}>
    The prediction is wrong: this is <b>${label(right)}</b>. p(correct) is <b>${percent(correct)}</b>.
  </p>`;
}

export function numberView({ quick, stale, softmax, label, right }: NumberView) {
  if (!quick) return bigNumber(undefined, '', true);
  const { row, asked } = quick;
  const kind = kindOf(row);
  return html`
    ${bigNumber(row, label(row.target), stale)}
    <p class="small muted">
      <span class="mark">${marks[kind].sign}</span>
      ${
        kind === 'invalid'
          ? html`${marks[kind].words}: ${reasonOf(row)}`
          : html`counted over ${asked.copies.toLocaleString('en')} noisy samples, 95% interval${interval(row)}`
      }
      ${softmax?.p == null ? nothing : html`<br />The network’s own confidence, which ignores the noise: ${percentOf(softmax)}`}
    </p>
    ${wrongLine(quick, right, label)}
  `;
}

interface BarsView extends Pick<NumberView, 'label' | 'right'> {
  quick: Quick;
  stale: boolean;
  rival: number | undefined;
  onRival(rival: number | undefined): void;
}

/** The largest number of bars; further classes are summed up in one line. */
const mostBars = 7;

function bar({ of, share }: Share, view: BarsView, most: number) {
  const { quick, rival, label, right, onRival } = view;
  const kept = of === quick.row.target;
  const width = Math.max(0.6, (100 * share) / most);
  const content = html`<b class="answer" .style="--dot: ${classColour(of)}">${label(of)}</b>
    <span class="track" aria-hidden="true"
      ><i .style="width: ${width}%; --dot: ${classColour(of)}; background-image: ${patternOf(Math.max(0, of))}"></i
    ></span>
    <span class="value">${percent(share)}</span>
    <span class="small muted">${kept ? 'survives' : of === right ? 'correct' : ''}</span>`;
  if (kept || of < 0 || !quick.linear)
    return html`<li><span class="bar-row" data-share=${share} data-of=${of}>${content}</span></li>`;
  return html`<li>
    <button
      class="bar-row"
      data-share=${share}
      data-of=${of}
      aria-pressed=${rival === of}
      aria-label="${percent(share)} get ${label(of)}: show which pixels lead to it"
      @click=${() => onRival(rival === of ? undefined : of)}
    >
      ${content}
    </button>
  </li>`;
}

export function bars(view: BarsView) {
  const { predicted } = view.quick.cloud;
  const shares = sharesOf(predicted);
  const shown = shares.slice(0, mostBars);
  const rest = shares.slice(mostBars).reduce((sum, { share }) => sum + share, 0);
  const most = shares[0]?.share ?? 1;
  return html`<section class="takes" aria-labelledby="takes-title">
    <h2 id="takes-title">Predictions of the noisy samples</h2>
    <ul class="bars ${view.stale ? 'stale' : ''}">
      ${shown.map((share) => bar(share, view, most))}
    </ul>
    <p class="small muted">
      Shares of ${predicted.length.toLocaleString('en')} noisy
      samples.${rest > 0 ? ` All others together: ${percent(rest)}.` : ''}
      ${view.quick.linear && shares.length > 1 ? 'Press another class to see which pixels lead to it.' : ''}
    </p>
  </section>`;
}

export const numberStyles = css`
  ${bigNumberStyles}
  .takes {
    margin: 0.9rem 0;
  }
  .bars {
    list-style: none;
    margin: 0.2rem 0 0.4rem;
    padding: 0;
  }
  .bar-row {
    display: grid;
    grid-template-columns: fit-content(6rem) minmax(0, 1fr) 4.4rem 3.2rem;
    align-items: center;
    gap: 0.6rem;
    width: 100%;
    min-height: 30px;
    padding: 1px 0.3rem;
    border: 0;
    border-radius: 6px;
    background: none;
    color: inherit;
    text-align: left;
    font-size: 0.9375rem;
  }
  button.bar-row:hover,
  button.bar-row[aria-pressed='true'] {
    background: var(--soft);
    color: inherit;
  }
  button.bar-row[aria-pressed='true'] {
    box-shadow: inset 3px 0 var(--ink);
  }
  .bar-row .answer {
    min-width: 2.6rem;
    overflow: hidden;
    text-overflow: ellipsis;
  }
  .track i {
    display: block;
    height: 16px;
    border-radius: 3px;
    background-color: var(--dot);
  }
  .bar-row .value {
    text-align: right;
  }
`;
