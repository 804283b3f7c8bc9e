// SPDX-License-Identifier: MIT
import { html, nothing } from 'lit';
import { panel } from '../../panels/panel.js';
import { naturalPerturbations } from '../../panels/sources.js';
import type { FigureParts } from './figures.js';
import { pretrained } from './models.js';
import { presets, type Preset } from './presets.js';

interface PresetParts extends Pick<FigureParts, 'store' | 'ui' | 'point'> {
  /** Scrolls to the picture. */
  show(): void;
}

function chips({ id, points, state }: Preset, label: string, { store, ui, point, show }: PresetParts) {
  const at = (i: number) => points[i]!.every((value, axis) => value === store.state.x[axis]);
  const go = (i: number) => {
    point({ preset: id });
    store.set({ ...state, ...pretrained[state.model!]!.data, x: [...points[i]!] });
    show();
  };
  return html`<div class="chips" role="group" aria-label=${label}>
    ${[0, 1].map((i) => html`<button class="chip" aria-pressed=${ui.preset === id && at(i)} @click=${() => go(i)}>point ${i + 1}</button>`)}
  </div>`;
}

const pair = (preset: Preset, parts: PresetParts) =>
  html`<div class="preset">
    <h3>${preset.title}</h3>
    <p class="small">${preset.words}</p>
    ${chips(preset, preset.title, parts)}
  </div>`;

/** The chosen pair, next to the picture. */
export function chosenPair(parts: PresetParts) {
  const preset = presets.find(({ id }) => id === parts.ui.preset);
  if (!preset) return nothing;
  return html`<div class="bar pair">
    <span class="small">${preset.title}</span> ${chips(preset, 'Points of the pair', parts)}
    <button class="quiet" @click=${() => parts.point({ preset: undefined })}>Close</button>
  </div>`;
}

export const presetsPanel = (parts: PresetParts) =>
  panel({
    id: 'presets',
    title: 'Distance is not probability',
    words:
      'The distance to the nearest different prediction is the usual measure of robustness. Switch between point 1 and point 2, and compare the arrow with the big number.',
    figure: html`${presets.map((preset) => pair(preset, parts))}`,
    source: html`After figures 1 and 2 of ${naturalPerturbations}.`,
  });
