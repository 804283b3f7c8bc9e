// SPDX-License-Identifier: MIT
// Randomised smoothing: the class that noisy samples get most often, and how far the point can move without changing that class.
import { html, svg } from 'lit';
import { classColour, letter } from '../../draw/classes.js';
import { panel, waiting } from '../../panels/panel.js';
import { percentOf, tidy } from '../../panels/words.js';
import type { Votes } from './answers.js';
import type { FigureParts } from './figures.js';

const width = 380;
const rowHeight = 26;
const left = 26;
const right = 70;

function bars({ rows, winner }: Votes) {
  const long = (p: number | null) => (width - left - right) * (p ?? 0);
  const height = rows.length * rowHeight;
  const spoken = rows.map((row) => `${letter(row.target)} ${percentOf(row)}`).join(', ');
  return svg`<svg class="chart" viewBox="0 0 ${width} ${height}" role="img" aria-label="Votes of the noisy samples: ${spoken}">
    ${rows.map((row, i) => {
      const y = i * rowHeight;
      return svg`<text class=${row.target === winner ? 'strong' : ''} x="0" y=${y + 16}>${letter(row.target)}</text>
        <rect x=${left} y=${y + 5} width=${Math.max(1, long(row.p))} height="14" rx="2" .style="fill: ${classColour(row.target)}"></rect>
        <text class="strong" x=${left + long(row.p) + 6} y=${y + 16}>${percentOf(row)}</text>`;
    })}
  </svg>`;
}

function certificate({ winner, radius, pLow, reason }: Votes, sigma: number) {
  const name = html`<b>${letter(winner)}</b>`;
  if (reason !== null) return html`The vote is ${name}. There is no certified radius: ${reason}.`;
  if (radius === null || radius <= 0) return html`The vote is ${name}, but the majority is too small for a certified radius.`;
  return html`The vote is ${name}. No move shorter than <b>${tidy(radius)}</b>, the thick ring, changes it: with 99.9% confidence
    at least ${tidy(pLow!)} of all noisy samples vote for it, and R = σ Φ⁻¹(${tidy(pLow!)}) with σ = ${tidy(sigma)}.`;
}

export function smoothingPanel({ store, answers, key }: FigureParts) {
  const { votes } = answers;
  return panel({
    id: 'smoothing',
    title: 'Smoothed classifier',
    words:
      'The noisy samples vote: the class that most of them get is the prediction of a smoothed classifier. It may differ from that of the network.',
    figure: votes
      ? html`${bars(votes.value)}
          <p class="small" data-radius=${votes.value.radius ?? ''}>${certificate(votes.value, store.state.sigma)}</p>`
      : waiting,
    stale: votes?.key !== key,
    source: html`<cite>Cohen, Rosenfeld and Kolter, Certified Adversarial Robustness via Randomized Smoothing</cite>, theorem 1,
      with 10,000 noisy samples.`,
  });
}
