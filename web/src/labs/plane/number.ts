// SPDX-License-Identifier: MIT
// The value of p, what kind of number it is, and the tinted share of the picture as a check.
import { css, html, nothing } from 'lit';
import type { Row } from 'probust';
import { letter } from '../../draw/classes.js';
import { kindOf, marks, percent, percentOf, reasonOf } from '../../panels/words.js';
import { bigNumber, bigNumberStyles } from '../big-number.js';

interface NumberView {
  truth: Row | undefined;
  stale: boolean;
  /** The tinted share of the noise, which should be 1 - p. */
  mass: number | undefined;
}

/** What a screen reader says. */
export const spoken = (truth: Row, sigma: number): string =>
  `${percentOf(truth)} of noisy copies keep the answer ${letter(truth.target)} at sigma ${sigma}.`;

/** The accuracy of the sum over cells, if it is not exact to rounding. */
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
            <span class="swatch" aria-hidden="true"></span> The shaded share of the noise is <b>${percent(mass)}</b>, counted cell
            by cell in the picture: 1 − p.
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
