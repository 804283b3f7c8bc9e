// SPDX-License-Identifier: MIT
// The panels below the picture, each with two sentences and the source of its formula.
import { html, nothing } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { convergenceCsv, convergenceFigure } from '../../panels/convergence.js';
import { correlationFigure, rivalsOf } from '../../panels/correlation.js';
import { countingCsv, countingFigure } from '../../panels/counting.js';
import { keyOfLines, curvesPanel as sweepPanel } from '../../panels/curves.js';
import { panel, waiting } from '../../panels/panel.js';
import { csvOf } from '../../panels/save.js';
import { percentOf, tidy } from '../../panels/words.js';
import { letter, type Palette } from '../../draw/palette.js';
import type { Store } from '../../state/store.js';
import { truthOf, type Answers } from './session.js';
import type { Ui } from './ui.js';

const paper = html`<cite>Han, Srinivas and Lakkaraju, Characterizing Data Point Vulnerability via Average-Case Robustness</cite>`;

export interface FigureParts {
  store: Store;
  answers: Answers;
  key: string;
  ui: Ui;
  palette: Palette;
  point(change: Partial<Ui>): void;
}

export function curvesPanel({ store, answers, key, ui, point }: FigureParts) {
  const { curves } = answers;
  const { sigma } = store.state;
  const forms = curves ? [...curves.value.byEstimator.keys()] : [];
  const keys = forms.map((form, i) => ({ form, line: i === 0 ? undefined : i - 1 }));
  return sweepPanel({ store, curves, key, keys, sigma, source: paper, ui, point });
}

export function convergencePanel({ answers, key, ui, point }: FigureParts) {
  const { convergence } = answers;
  const keys = convergence?.value.families.map(({ name }, line) => ({ form: name, line })) ?? [];
  return panel({
    id: 'convergence',
    title: 'Error against cost',
    words:
      'Each dot is one run with noise of its own, each line the typical error of its estimator. Counting needs a hundred times the cost for a tenth of the error; a line that turns flat has a bias that no cost removes.',
    figure: guard([convergence?.value, ui.form], () => (convergence ? convergenceFigure(convergence.value, ui.form) : waiting)),
    stale: convergence?.key !== key,
    controls: keyOfLines(keys, ui.form, (form) => point({ form })),
    source: html`Section 4.1 of ${paper}: estimators are compared once they have converged.`,
    csv: convergence && (() => convergenceCsv(convergence.value)),
  });
}

export function correlationPanel({ answers, key, ui, point }: FigureParts) {
  const { quick } = answers;
  return panel({
    id: 'correlation',
    title: 'What the normal CDF sees',
    words:
      'Of the whole network it keeps two things: how far each straight line is, and how alike the lines’ directions are. Point at a cell to light its lines; 1 means that two rivals take the same noise, −1 that they never do.',
    figure: quick
      ? correlationFigure({ linear: quick.value.linear, rival: ui.rival, onRival: (rival) => point({ rival }) })
      : waiting,
    stale: quick?.key !== key,
    source: html`Lemma 1 of ${paper}: p is the normal CDF of z with correlations U Uᵀ.`,
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
  const { counted } = answers;
  return panel({
    id: 'counting',
    title: 'Counting twice',
    words:
      'The chance that the answer changes, from the same straight lines, added up in four ways. Where two rivals’ regions overlap, sums count the noise there twice.',
    figure: guard([counted?.value], () => (counted ? countingFigure(counted.value) : waiting)),
    stale: counted?.key !== key,
    source: html`Section 3.2.3 of ${paper} (mv-sigmoid); Boole’s inequality.`,
    csv: counted && (() => countingCsv(counted.value)),
  });
}

/** A table of the rivals: margin, length of its gradient, and z of both lines; the hovered row is marked. */
export function rivalTable({ answers, key, ui, point }: FigureParts) {
  const { quick, listed } = answers;
  if (!quick) return nothing;
  const { linear, truth } = quick.value;
  const classes = Array.from(linear.margins, (_, row) => (row < linear.target ? row : row + 1));
  const norm = (gradients: Float32Array, row: number) => Math.hypot(gradients[2 * row]!, gradients[2 * row + 1]!);
  const mmse = listed?.key === key ? listed.value.mmse : undefined;
  return html`<table class="rivals small ${quick.key === key ? '' : 'stale'}">
    <caption>
      From ${letter(truth.target)} to each rival: dashed line at the point (Taylor), solid line averaged over copies (MMSE)
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
              aria-label="Light the lines of ${letter(rival)}"
              @focus=${() => point({ rival })}
              @blur=${() => point({ rival: undefined })}
            >
              <i class="dot" style="--dot: var(--class-${rival % 6})"></i>${letter(rival)}
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

/** The worst case next to the average case. */
export function boundaryLine({ answers, key }: FigureParts) {
  const { listed, quick } = answers;
  if (!listed || !quick || !Number.isFinite(listed.value.boundary.distance)) return nothing;
  const { distance, rival } = listed.value.boundary;
  return html`<p class="small boundary ${listed.key === key ? '' : 'stale'}" data-distance=${distance}>
    The arrow is the worst case: the nearest other answer, ${letter(rival)}, is <b>${tidy(distance)}</b> away. The big number is
    the average case: <b>${percentOf(truthOf(answers)!)}</b>. Neither follows from the other.
  </p>`;
}
