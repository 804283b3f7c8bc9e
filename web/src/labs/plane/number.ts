// SPDX-License-Identifier: MIT
// The value of p, the kind of estimate, and 1 - p, which is tinted in the picture.
import { css, html, nothing } from 'lit';
import type { Row } from 'probust';
import { letter } from '../../draw/classes.js';
import { failurePercentOf, kindOf, marks, percentOf, reasonOf } from '../../panels/words.js';
import { bigNumber, bigNumberStyles } from '../big-number.js';

interface NumberView {
  truth: Row | undefined;
  stale: boolean;
  /** The sum over the tinted cells, which a test compares with 1 - p. */
  mass: number | undefined;
}

/** The text for screen readers. */
export const spoken = (truth: Row, sigma: number): string =>
  `${percentOf(truth)} of noisy samples keep the prediction ${letter(truth.target)} at sigma ${sigma}.`;

/** The note about the accuracy of the quadrature, if it is not exact to rounding. */
const precision = (row: Row): string => reasonOf(row).replace(/^(?=.)/, ', ');

export function numberView({ truth, stale, mass }: NumberView) {
  if (!truth) return bigNumber(undefined, '', true);
  const kind = kindOf(truth);
  return html`
    ${bigNumber(truth, letter(truth.target), stale)}
    <p class="small muted">
      <span class="mark">${marks[kind].sign}</span>
      ${kind === 'exact' ? `true value, by quadrature over the plane${precision(truth)}` : marks[kind].words}
    </p>
    ${
      mass === undefined
        ? nothing
        : html`<p class="small mass" data-mass=${mass}>
            <span class="swatch" aria-hidden="true"></span> The shaded share of the noise is <b>${failurePercentOf(truth)}</b>: 1
            − p.
          </p>`
    }
  `;
}

export const numberStyles = css`
  ${bigNumberStyles}
  .mass {
    margin-bottom: 0.9rem;
  }
  .swatch {
    display: inline-block;
    width: 0.9em;
    height: 0.9em;
    border-radius: 3px;
    vertical-align: -0.1em;
    background: linear-gradient(135deg, var(--class-0), var(--class-1));
  }
`;
