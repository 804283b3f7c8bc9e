// SPDX-License-Identifier: MIT
// The panels below the picture, each with two sentences and the source of its formula.
import { html, nothing } from 'lit';
import { letter } from '../../draw/classes.js';
import { curvesPanel as sweepPanel } from '../../panels/curves.js';
import { panel } from '../../panels/panel.js';
import { naturalPerturbations } from '../../panels/sources.js';
import { percentOf, tidy } from '../../panels/words.js';
import { isVisible } from '../../state/state.js';
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

/** A line about the worst case (the nearest boundary) and, if p is on screen, about the average case (p). */
export function boundaryLine({ answers, key, store: { state } }: FigureParts) {
  const { listed, quick } = answers;
  if (!listed || !quick || !Number.isFinite(listed.value.boundary.distance)) return nothing;
  const { distance, rival } = listed.value.boundary;
  return html`<p class="small boundary ${listed.key === key ? '' : 'stale'}" data-distance=${distance}>
    ${state.show.includes('arrow') ? 'The arrow is the worst case: the' : 'The'} nearest different prediction, ${letter(rival)},
    is
    <b>${tidy(distance)}</b> away.
    ${isVisible(state, 'number') ? html`The big number is the average case: <b>${percentOf(truthOf(answers)!)}</b>. Neither follows from the other.` : nothing}
  </p>`;
}

export const shapePanel = (store: Store) =>
  panel({
    id: 'shape',
    title: 'Shape of the noise',
    words:
      'Noise need not be round or Gaussian. Stretch and turn its ellipse here, or with the small handles on its ring. At the same sigma, the direction of the noise can decide whether the prediction survives.',
    figure: html`<div class="controls">${shapeControls(store)}</div>`,
    source: html`Full covariance: ${naturalPerturbations}, section 3.2. Estimators from straight lines take other noise as
    Gaussian of the same covariance.`,
  });

export const trainingPanel = (store: Store) =>
  panel({
    id: 'training',
    title: 'Training',
    words:
      'Smoothness penalises steep networks. Training noise trains on noisy samples of each point. Both make the network smoother, so that straight lines fit it better, and both can be changed during training.',
    figure: html`<div class="controls">${settings(store)}</div>`,
    source: html`Gradient-norm regularisation, loss + lambda ‖∇ₓ loss‖²: <cite>Srinivas and Fleuret, 2018</cite>, as used by Han,
      Srinivas and Lakkaraju.`,
  });
