// SPDX-License-Identifier: MIT
// The panels below the picture, each with two sentences and the source of its formula.
import { html, nothing } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { classColour, letter, rivalOf } from '../../draw/classes.js';
import { convergenceCsv, convergenceFigure, convergenceReading } from '../../panels/convergence.js';
import { correlationFigure, rivalsOf } from '../../panels/correlation.js';
import { countingCsv, countingFigure } from '../../panels/counting.js';
import { curvesPanel as sweepPanel } from '../../panels/curves.js';
import { legend } from '../../panels/legend.js';
import { panel, waiting } from '../../panels/panel.js';
import { csvOf } from '../../panels/save.js';
import { averageCase, naturalPerturbations } from '../../panels/sources.js';
import { percentOf, tidy } from '../../panels/words.js';
import type { Store } from '../../state/store.js';
import type { Parts } from '../lab-element.js';
import type { Answers } from '../lab-session.js';
import { dataUnit } from '../controls.js';
import { settings, shapeControls } from './controls.js';
import { truthOf, type PlaneValues } from './session.js';
import type { Ui } from './ui.js';

export type FigureParts = Parts<Answers<PlaneValues>, Ui>;

export function curvesPanel({ store, answers, key, ui, point }: FigureParts) {
  const { curves } = answers;
  const { sigma, failure } = store.state;
  const forms = curves ? [...curves.value.byEstimator.keys()] : [];
  return sweepPanel({
    ...{
      curves: curves?.value,
      unit: dataUnit,
      stale: curves?.key !== key,
      sigma,
      failure,
      hovered: ui.form,
      read: ui.readSigma,
    },
    entries: forms.map((form, i) => ({ form, line: i === 0 ? undefined : i - 1 })),
    onFailure: (failure) => store.set({ failure }),
    onRead: (readSigma) => point({ readSigma }),
    onSigma: (sigma) => store.set({ sigma }),
    onHover: (form) => point({ form }),
  });
}

export function convergencePanel({ answers, key, ui, point }: FigureParts) {
  const { convergence } = answers;
  const entries = convergence?.value.families.map(({ name }, line) => ({ form: name, line })) ?? [];
  return panel({
    id: 'convergence',
    title: 'Error against cost',
    words:
      'Each dot is one run with its own noise; each line is the root mean square error of an estimator. Counting needs a hundred times the cost for a tenth of the error. A line that levels off shows a bias, which no cost removes.',
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
      'The normal CDF needs only the distance of each straight line and the correlations of the lines’ directions. 1 means that two rivals win in the same noise, −1 that they never do. Point at a cell to highlight its lines.',
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
  // The truth is the one of the big number.
  const truth = stale ? undefined : truthOf(answers);
  const counted = answers.counted && { ...answers.counted.value, ...(truth && { truth }) };
  return panel({
    id: 'counting',
    title: 'Double counting',
    words:
      'The probability that the answer changes, computed in four ways from the same straight lines. Where the regions of two rivals overlap, a sum counts the noise twice.',
    figure: guard([answers.counted?.value, truth], () => (counted ? countingFigure(counted) : waiting)),
    stale,
    source: html`Section 3.2.3 of ${averageCase} (mv-sigmoid); Boole’s inequality.`,
    csv: counted && (() => countingCsv(counted)),
  });
}

/** A table of the rivals: the margin, the length of its gradient, and z of both lines. */
export function rivalTable({ answers, key, ui, point }: FigureParts) {
  const { quick, listed } = answers;
  if (!quick) return nothing;
  const { linear, truth } = quick.value;
  const classes = Array.from(linear.margins, (_, row) => rivalOf(row, linear.target));
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

export const shapePanel = (store: Store) =>
  panel({
    id: 'shape',
    title: 'Shape of the noise',
    words:
      'Noise need not be round or Gaussian. Stretch and turn its ellipse here, or by the small handles on its ring. Noise of the same sigma, turned, can keep the answer or lose it.',
    figure: html`<div class="controls">${shapeControls(store)}</div>`,
    source: html`Full covariance: ${naturalPerturbations}, section 3.2. Estimators from straight lines take other noise as
    Gaussian of the same covariance.`,
  });

export const trainingPanel = (store: Store) =>
  panel({
    id: 'training',
    title: 'Training',
    words:
      'Smoothness penalises steep networks. Straight lines fit smooth networks better, so that Taylor comes closer to the truth. It can be changed during training.',
    figure: html`<div class="controls">${settings(store)}</div>`,
    source: html`Gradient-norm regularisation, loss + lambda ‖∇ₓ loss‖²: <cite>Srinivas and Fleuret, 2018</cite>, as used by Han,
      Srinivas and Lakkaraju.`,
  });
