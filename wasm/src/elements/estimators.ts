// SPDX-License-Identifier: MIT
// <probust-estimators>: estimates of several estimators, with intervals and costs, or their means over several points.
import { html, nothing } from 'lit';
import { summary } from '../analysis.js';
import type { Probust } from '../api.js';
import type { Row } from '../types.js';
import { ProbustElement, type Answer } from './base.js';
import { theme } from './theme.js';
import { track } from './track.js';
import { interval, percent } from './words.js';

/** The result of one estimator. */
export interface EstimatorAnswer {
  estimator: string;
  p: number | null;
  pFail: number | null;
  ciLow: number | null;
  ciHigh: number | null;
  /** Forward and backward passes for each point. */
  passes: number;
  note: string;
}

const ofRow = (row: Row): EstimatorAnswer => ({
  ...row,
  passes: row.forwards + row.backwards,
  note: row.note ?? (row.status === 'ok' ? '' : row.status),
});

async function ofMany(rows: readonly Row[], probust: Probust): Promise<EstimatorAnswer[]> {
  const { groups } = await summary(probust, rows);
  return groups.map(({ estimator, p, points, forwards, backwards }) => ({
    ...{ estimator, p: p.mean, pFail: null, ciLow: p.ciLow, ciHigh: p.ciHigh },
    passes: Math.round((forwards + backwards) / points),
    note: p.count < points ? `${points - p.count} of ${points} points without p` : '',
  }));
}

export class ProbustEstimators extends ProbustElement<EstimatorAnswer[]> {
  static override styles = theme;

  protected override async present({ rows }: Answer, probust: () => Promise<Probust>): Promise<EstimatorAnswer[]> {
    const same = rows.filter((row) => row.noise === rows[0]!.noise && row.model === rows[0]!.model);
    return new Set(same.map((row) => row.index)).size > 1 ? ofMany(same, await probust()) : same.map(ofRow);
  }

  protected override show(answers: EstimatorAnswer[]): unknown {
    return html`<table part="table">
      <thead>
        <tr>
          <th>estimator</th>
          <th class="number">p</th>
          <th class="wide" aria-hidden="true"></th>
          <th class="number">passes</th>
        </tr>
      </thead>
      <tbody>
        ${answers.map(
          ({ estimator, p, pFail, ciLow, ciHigh, passes, note }) =>
            html`<tr part="row">
              <th scope="row">${estimator}${note ? html`<br /><span class="muted">${note}</span>` : nothing}</th>
              <td class="number" title=${interval(ciLow, ciHigh)}>${percent(p, pFail)}</td>
              <td class="bar wide">${track(p, ciLow, ciHigh)}</td>
              <td class="number">${passes.toLocaleString('en')}</td>
            </tr>`,
        )}
      </tbody>
    </table>`;
  }
}
