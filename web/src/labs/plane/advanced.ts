// SPDX-License-Identifier: MIT
// The panels that beginners do not see. They are loaded when they are first shown, so that the first result does not wait for
// them.
import { html, nothing } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { classColour, letter, rivalOf } from '../../draw/classes.js';
import { convergenceCsv, convergenceFigure, convergenceReading } from '../../panels/convergence.js';
import { correlationFigure, rivalsOf } from '../../panels/correlation.js';
import { countingCsv, countingFigure } from '../../panels/counting.js';
import { legend } from '../../panels/legend.js';
import { panel, waiting } from '../../panels/panel.js';
import { csvOf } from '../../panels/save.js';
import { averageCase } from '../../panels/sources.js';
import { tidy } from '../../panels/words.js';
import type { FigureParts } from './figures.js';
import { truthOf } from './session.js';

export { smoothingPanel } from './smoothing.js';

export function convergencePanel({ answers, key, ui, point }: FigureParts) {
  const { convergence } = answers;
  const entries = convergence?.value.families.map(({ name }, line) => ({ form: name, line })) ?? [];
  return panel({
    id: 'convergence',
    title: 'Error against cost',
    words:
      'Each dot is one run with its own noise; each line is the root mean square error of an estimator. For a tenth of the error, mc needs a hundred times the cost. A line that levels off shows a bias, which more samples do not reduce.',
    figure: guard([convergence?.value, ui.form, ui.readCost], () =>
      convergence
        ? convergenceFigure(convergence.value, {
            ...{ hovered: ui.form, read: ui.readCost },
            onRead: (readCost) => point({ readCost }),
          })
        : waiting,
    ),
    stale: convergence?.key !== key,
    controls: html`${legend(entries, ui.form, (form) => point({ form }))}
      <p class="reading muted">${convergence ? convergenceReading(convergence.value, ui.readCost) : nothing}</p>`,
    source: html`Section 4.1 of ${averageCase}: estimators are compared once they have converged.`,
    csv: convergence && (() => convergenceCsv(convergence.value)),
  });
}

export function correlationPanel({ answers, key, ui, point }: FigureParts) {
  const { quick } = answers;
  return panel({
    id: 'correlation',
    title: 'Inputs of the normal CDF',
    words:
      'The normal CDF needs only the distance of each straight line and the correlations of the lines’ directions. 1 means that the same noise crosses both lines, −1 that no noise does. Point at a cell to highlight its lines.',
    figure: quick
      ? correlationFigure({ linear: quick.value.linear, rival: ui.rival, onRival: (rival) => point({ rival }) })
      : waiting,
    stale: quick?.key !== key,
    source: html`Lemma 1 of ${averageCase}: p is the normal CDF of z with correlations U Uᵀ.`,
    csv:
      quick &&
      (() => {
        const { linear } = quick.value;
        const classes = rivalsOf(linear);
        return csvOf(
          classes.map((rival, i) => ({
            rival: letter(rival),
            z: linear.z[i],
            ...Object.fromEntries(classes.map((other, j) => [letter(other), linear.R[i * classes.length + j]])),
          })),
        );
      }),
  });
}

export function countingPanel({ answers, key }: FigureParts) {
  const stale = answers.counted?.key !== key;
  // The same true p as in the big number.
  const truth = stale ? undefined : truthOf(answers);
  const counted = answers.counted && { ...answers.counted.value, ...(truth && { truth }) };
  return panel({
    id: 'counting',
    title: 'Double counting',
    words:
      'The probability that the prediction changes, computed in four ways from the same straight lines. If the regions of two rivals overlap, a sum counts the noise in the overlap twice.',
    figure: guard([answers.counted?.value, truth], () => (counted ? countingFigure(counted) : waiting)),
    stale,
    source: html`Section 3.2.3 of ${averageCase} (mv-sigmoid); Boole’s inequality.`,
    csv: counted && (() => countingCsv(counted)),
  });
}

/** A table of the rivals: the margin, the norm of its gradient, and z from the linearisations of `taylor` and `mmse`. */
export function rivalTable({ answers, key, ui, point }: FigureParts) {
  const { quick, listed } = answers;
  if (!quick) return nothing;
  const { linear, truth } = quick.value;
  const classes = Array.from(linear.margins, (_, row) => rivalOf(row, linear.target));
  const norm = (gradients: Float32Array, row: number) => Math.hypot(gradients[2 * row]!, gradients[2 * row + 1]!);
  const mmse = listed?.key === key ? listed.value.mmse : undefined;
  return html`<table class="rivals small ${quick.key === key ? '' : 'stale'}">
    <caption>
      From ${letter(truth.target)} to each rival: dashed line at the point (Taylor), solid line averaged over noisy samples (MMSE)
    </caption>
    <thead>
      <tr>
        <th scope="col">rival</th>
        <th scope="col">margin</th>
        <th scope="col">slope</th>
        <th scope="col">z dashed</th>
        <th scope="col">z solid</th>
      </tr>
    </thead>
    <tbody>
      ${classes.map((rival, row) => {
        const at = Array.from(linear.rivals).indexOf(row);
        const solid = mmse ? Array.from(mmse.rivals).indexOf(row) : -1;
        return html`<tr
          class=${ui.rival === rival ? 'hovered' : ''}
          @pointerenter=${() => point({ rival })}
          @pointerleave=${() => point({ rival: undefined })}
        >
          <th scope="row">
            <button
              class="quiet"
              aria-label="Highlight the lines of ${letter(rival)}"
              @focus=${() => point({ rival })}
              @blur=${() => point({ rival: undefined })}
            >
              <i class="dot" .style="--dot: ${classColour(rival)}"></i>${letter(rival)}
            </button>
          </th>
          <td>${tidy(linear.margins[row]!)}</td>
          <td>${tidy(norm(linear.gradients, row))}</td>
          <td>${at < 0 ? '–' : linear.z[at]!.toFixed(2)}</td>
          <td>${solid < 0 ? '–' : mmse!.z[solid]!.toFixed(2)}</td>
        </tr>`;
      })}
    </tbody>
  </table>`;
}
