// SPDX-License-Identifier: MIT
import { html } from 'lit';
import { panel } from '../../panels/panel.js';
import { naturalPerturbations } from '../../panels/sources.js';
import type { FigureParts } from './figures.js';
import { pretrained } from './models.js';
import { presets, type Preset } from './presets.js';

type PresetParts = Pick<FigureParts, 'store' | 'ui' | 'point'>;

function pair({ id, title, words, points, state }: Preset, { store, ui, point }: PresetParts) {
  const at = (i: number) => points[i]!.every((value, axis) => value === store.state.x[axis]);
  const go = (i: number) => {
    point({ preset: id });
    store.set({ ...state, ...pretrained[state.model!]!.data, x: [...points[i]!] });
  };
  return html`<div class="preset">
    <h3>${title}</h3>
    <p class="small">${words}</p>
    <div class="chips" role="group" aria-label=${title}>
      ${[0, 1].map((i) => html`<button class="chip" aria-pressed=${ui.preset === id && at(i)} @click=${() => go(i)}>point ${i + 1}</button>`)}
    </div>
  </div>`;
}

export const presetsPanel = (parts: PresetParts) =>
  panel({
    id: 'presets',
    title: 'Distance is not probability',
    words:
      'The distance to the nearest other answer is the usual measure of robustness. Go from point 1 to point 2 and watch the arrow and the big number.',
    figure: html`${presets.map((preset) => pair(preset, parts))}`,
    source: html`After figures 1 and 2 of ${naturalPerturbations}.`,
  });
