// SPDX-License-Identifier: MIT
// The value of p, what kind of number it is, and the tinted share of the picture as a check.
import { css, html, nothing } from 'lit';
import { letter } from '../../draw/palette.js';
import { kindOf, marks, percent, percentOf } from '../../panels/words.js';
import { bigStyles } from '../../panels/big.js';
import type { Row } from 'probust';

export interface NumberView {
  truth: Row | undefined;
  stale: boolean;
  /** Density-weighted share of the picture's noise that is tinted. */
  mass: number | undefined;
}

/** What a screen reader says once nothing changes any more. */
export const spoken = (truth: Row, sigma: number): string =>
  `${percentOf(truth)} of noisy copies keep the answer ${letter(truth.target)} at sigma ${sigma}.`;

/** The accuracy of the sum over cells, if it is not exact to rounding. */
const precision = ({ status }: Row): string => /known to about [^;]*/.exec(status)?.[0].replace(/^/, ', ') ?? '';

export function numberView({ truth, stale, mass }: NumberView) {
  if (!truth) return html`<div class="big stale" aria-hidden="true">&nbsp;</div>`;
  const kind = kindOf(truth);
  return html`
    <div class="big ${stale ? 'stale' : ''}" data-p=${truth.p ?? ''}>${percentOf(truth)}</div>
    <p class="lead">
      of noisy copies keep the answer
      <b class="answer" style="--dot: var(--class-${truth.target % 6})">${letter(truth.target)}</b>
    </p>
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
  ${bigStyles}
  /* What is out of date for a moment only is not worth a flicker. */
  .big.stale {
    transition: opacity 150ms 120ms;
  }
  @media (prefers-reduced-motion: reduce) {
    .big.stale {
      transition: none;
    }
  }
  .answer {
    display: inline-block;
    min-width: 1.5em;
    text-align: center;
    border-radius: 5px;
    border: 2px solid var(--dot);
  }
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
