// SPDX-License-Identifier: MIT
// The value of p in large type, with the prediction to which it refers.
import { css, html, nothing } from 'lit';
import type { Row } from 'probust';
import { classColour } from '../draw/classes.js';
import { percentOf } from '../panels/words.js';

/** `name` is the name of the row's target. Without a row, an empty line of the same size is shown. */
export function bigNumber(row: Row | undefined, name: string, stale: boolean) {
  if (!row) return html`<div class="big stale" aria-hidden="true">&nbsp;</div>`;
  const look = stale ? 'big stale' : 'big';
  return html`<div class=${look} data-testid="p" data-p=${row.p ?? ''} data-answer=${row.target}>${percentOf(row)}</div>
    <p class="lead">
      of noisy samples keep the prediction <b class="answer" .style="--dot: ${classColour(row.target)}">${name}</b>
    </p>`;
}

/** p for phones, next to the slider of sigma, where it stays on screen. */
export const smallNumber = (row: Row | undefined) =>
  row ? html`<b class="compact" aria-hidden="true">${percentOf(row)}</b>` : nothing;

export const bigNumberStyles = css`
  .big {
    font-size: clamp(3rem, 7cqi, 4.5rem);
    font-weight: 700;
    line-height: 1.05;
    letter-spacing: -0.02em;
    white-space: nowrap;
  }
  .lead {
    font-size: 1.125rem;
    margin-bottom: 0.1rem;
  }
  .answer {
    display: inline-block;
    min-width: 1.6em;
    padding: 0 0.2em;
    text-align: center;
    border-radius: 5px;
    border: 2px solid var(--dot);
  }
`;
