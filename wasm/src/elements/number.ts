// SPDX-License-Identifier: MIT
// <probust-number>: one probability in large digits, with a sentence, or the mean over several points.
import { css, html } from 'lit';
import { summary } from '../analysis.js';
import type { Probust } from '../api.js';
import { usage } from '../errors.js';
import type { Row } from '../types.js';
import { className, ProbustElement, type Answer } from './base.js';
import { theme } from './theme.js';
import { interval, percent, plural } from './words.js';

export interface NumberView {
  value: string;
  sentence: string;
  interval: string;
  how: string;
}

const howOf = ({ estimator, noise }: Pick<Row, 'estimator' | 'noise'>) => `${estimator}, ${noise}`;

function ofOne(row: Row, answer: Answer): NumberView {
  if (row.p === null) throw usage(`p could not be computed (${row.status})`, row.note ?? undefined);
  const shown = interval(row.ciLow, row.ciHigh);
  return {
    value: percent(row.p, row.pFail),
    sentence: `The prediction ${className(answer, row.target)} survives this noise with probability ${percent(row.p, row.pFail)}.`,
    interval: shown && `95% interval: ${shown}.`,
    how: `${howOf(row)}, ${plural(row.forwards + row.backwards, 'pass', 'passes')}`,
  };
}

async function ofMany(rows: readonly Row[], probust: Probust): Promise<NumberView> {
  const { groups } = await summary(probust, rows);
  const { p, points, ...key } = groups[0]!;
  const shown = interval(p.ciLow, p.ciHigh);
  return {
    value: percent(p.mean),
    sentence: `On average over ${plural(points, 'point')}, a prediction survives this noise with probability ${percent(p.mean)}.`,
    interval: shown && `95% interval: ${shown}.`,
    how: howOf(key),
  };
}

export class ProbustNumber extends ProbustElement<NumberView> {
  static override styles = [
    theme,
    css`
      p {
        margin: 0;
      }
      .value {
        font-size: clamp(2.25rem, 14cqi, 3.5rem);
        font-weight: 600;
        line-height: 1.1;
        font-variant-numeric: tabular-nums;
      }
    `,
  ];

  protected override async present(answer: Answer, probust: () => Promise<Probust>): Promise<NumberView> {
    const first = answer.rows[0];
    if (first === undefined) throw usage('there are no rows', 'give at least one');
    const same = answer.rows.filter(
      (row) => row.estimator === first.estimator && row.noise === first.noise && row.model === first.model,
    );
    return same.length > 1 ? ofMany(same, await probust()) : ofOne(first, answer);
  }

  protected override show(view: NumberView): unknown {
    return html`<p class="value" part="value" data-testid="p">${view.value}</p>
      <p part="sentence">${view.sentence} ${view.interval}</p>
      <p class="muted" part="how">${view.how}</p>`;
  }
}
