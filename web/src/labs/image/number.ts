// SPDX-License-Identifier: MIT
// The value of p, what kind of number it is, and which answers replace the prediction when it is lost.
import { css, html, nothing } from 'lit';
import { styleMap } from 'lit/directives/style-map.js';
import { kindOf, marks, percent, percentOf } from '../../panels/words.js';
import { bigStyles } from '../../panels/big.js';
import type { Row } from 'probust';
import type { Quick } from './answers.js';
import { patternOf } from './paint.js';

/** Classes are shown by their index in the model. */
export const label = (of: number): string => (of < 0 ? 'no number' : String(of));

/** What a screen reader says once nothing changes any more. */
export function spoken({ row, asked, cloud }: Quick): string {
  const [first] = sharesOf(cloud.predicted).filter(({ of }) => of !== row.target);
  const rest = first ? ` Most of the others answer ${label(first.of)}.` : '';
  return `${percentOf(row)} of ${asked.copies} noisy copies keep the answer ${label(row.target)} at sigma ${asked.sigma}.${rest}`;
}

export interface Share {
  of: number;
  share: number;
}

/** How often each class was the answer, most often first. */
export function sharesOf(predicted: ArrayLike<number>): Share[] {
  const counts = new Map<number, number>();
  for (let i = 0; i < predicted.length; ++i) counts.set(predicted[i]!, (counts.get(predicted[i]!) ?? 0) + 1);
  return [...counts]
    .map(([of, count]) => ({ of, share: count / predicted.length }))
    .sort((a, b) => b.share - a.share || a.of - b.of);
}

const interval = ({ ciLow, ciHigh }: Row): string =>
  ciLow === null || ciHigh === null ? '' : `: ${percent(ciLow)} to ${percent(ciHigh)}`;

export function numberView(quick: Quick | undefined, stale: boolean, softmax: Row | undefined) {
  if (!quick) return html`<div class="big stale" aria-hidden="true">&nbsp;</div>`;
  const { row, asked } = quick;
  const kind = kindOf(row);
  return html`
    <div class="big ${stale ? 'stale' : ''}" data-p=${row.p ?? ''} data-answer=${row.target}>${percentOf(row)}</div>
    <p class="lead">
      of noisy copies keep the answer
      <b class="answer" style="--dot: var(--class-${Math.max(0, row.target) % 6})">${label(row.target)}</b>
    </p>
    <p class="small muted">
      <span class="mark">${marks[kind].sign}</span>
      ${
        kind === 'invalid'
          ? html`${marks[kind].words}: ${row.status}`
          : html`counted over ${asked.copies.toLocaleString('en')} copies, 95 % interval${interval(row)}`
      }
      ${softmax?.p == null ? nothing : html`<br />The network’s own confidence, which never sees the noise: ${percentOf(softmax)}`}
    </p>
  `;
}

export interface BarsView {
  quick: Quick;
  stale: boolean;
  rival: number | undefined;
  onRival(rival: number | undefined): void;
}

/** Classes after the seventh are summarised in one line. */
const mostBars = 7;

function bar({ of, share }: Share, view: BarsView, most: number) {
  const { quick, rival, onRival } = view;
  const kept = of === quick.row.target;
  const style = {
    width: `${Math.max(0.6, (100 * share) / most)}%`,
    '--dot': `var(--class-${Math.max(0, of) % 6})`,
    backgroundImage: patternOf(Math.max(0, of)),
  };
  const content = html`<b class="answer" style="--dot: var(--class-${Math.max(0, of) % 6})">${label(of)}</b>
    <span class="track" aria-hidden="true"><i style=${styleMap(style)}></i></span>
    <span class="value">${percent(share)}</span>
    <span class="small muted">${kept ? 'kept' : ''}</span>`;
  if (kept || of < 0 || !quick.linear)
    return html`<li><span class="bar-row" data-share=${share} data-of=${of}>${content}</span></li>`;
  return html`<li>
    <button
      class="bar-row"
      data-share=${share}
      data-of=${of}
      aria-pressed=${rival === of}
      aria-label="${percent(share)} answer ${label(of)}: show what leads there"
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
    <h2 id="takes-title">Which answer takes over</h2>
    <ul class="bars ${view.stale ? 'stale' : ''}">
      ${shown.map((share) => bar(share, view, most))}
    </ul>
    <p class="small muted">
      Shares of ${predicted.length.toLocaleString('en')} copies.${rest > 0 ? ` All others together: ${percent(rest)}.` : ''}
      ${view.quick.linear && shares.length > 1 ? 'Press a rival to see which pixels lead to it.' : ''}
    </p>
  </section>`;
}

export const numberStyles = css`
  ${bigStyles}
  .answer {
    display: inline-block;
    min-width: 1.6em;
    padding: 0 0.2em;
    text-align: center;
    border-radius: 5px;
    border: 2px solid var(--dot);
  }
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
    grid-template-columns: 2.6rem minmax(0, 1fr) 4.4rem 2.6rem;
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
