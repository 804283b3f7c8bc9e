// SPDX-License-Identifier: MIT
// The 2-D lab's controls: everything below and next to the picture that changes the state.
import { css, html, nothing } from 'lit';
import type { Row } from 'probust';
import { classColour, colourCount, letter } from '../../draw/classes.js';
import { activations, layers, noiseKinds, type DataSet, type Layer, type NoiseKind, type State } from '../../state/state.js';
import type { Store } from '../../state/store.js';
import { smallNumber } from '../big-number.js';
import { dataUnit, sigmaSlider, slider, sliderFromZero } from '../controls.js';
import { pretrained } from './models.js';
import { hasClassChoice, type Trainer } from './trainer.js';
import type { Ui } from './ui.js';

export const sigmaBar = (store: Store, truth: Row | undefined) =>
  html`<div class="sigma">
    ${smallNumber(truth)}
    ${sigmaSlider({
      unit: dataUnit,
      low: 0.02,
      high: 1.6,
      value: store.state.sigma,
      set: (sigma) => store.set({ sigma }),
    })}
  </div>`;

const layerNames: Record<Layer, string> = {
  tint: 'shade',
  cloud: 'noisy samples',
  lines: 'straight lines',
  arrow: 'arrow',
  data: 'data',
};

export function layerToggles(store: Store) {
  const { show } = store.state;
  const toggle = (layer: Layer) => store.set({ show: layers.filter((each) => show.includes(each) !== (each === layer)) });
  return html`<div class="chips" role="group" aria-label="Shown in the picture">
    ${layers.map((layer) => html`<button class="chip" aria-pressed=${show.includes(layer)} @click=${() => toggle(layer)}>${layerNames[layer]}</button>`)}
  </div>`;
}

/** Thumbnails of the data sets. */
const icons: Record<DataSet, unknown> = {
  moons: html`<svg viewBox="0 0 24 24">
    <path d="M4 14a6 6 0 0 1 12 0" class="a" />
    <path d="M9 10a6 6 0 0 0 12 0" class="b" />
  </svg>`,
  blobs: html`<svg viewBox="0 0 24 24">
    <circle cx="8" cy="8" r="4" class="a f" />
    <circle cx="17" cy="9" r="3.5" class="b f" />
    <circle cx="12" cy="17" r="3.5" class="c f" />
  </svg>`,
  spirals: html`<svg viewBox="0 0 24 24">
    <path d="M12 12c3-3 7 0 5 4s-9 5-12 0" class="a" />
    <path d="M12 12c-3 3-7 0-5-4s9-5 12 0" class="b" />
  </svg>`,
  xor: html`<svg viewBox="0 0 24 24">
    <path d="M4 4h7v7H4zM13 13h7v7h-7z" class="a f" />
    <path d="M13 4h7v7h-7zM4 13h7v7H4z" class="b f" />
  </svg>`,
  rings: html`<svg viewBox="0 0 24 24">
    <circle cx="12" cy="12" r="9" class="a" />
    <circle cx="12" cy="12" r="4" class="b" />
  </svg>`,
  own: html`<svg viewBox="0 0 24 24"><path d="M12 5v14M5 12h14" class="i" /></svg>`,
};

const dataNames: Record<DataSet, string> = {
  moons: 'moons',
  blobs: 'blobs',
  spirals: 'spirals',
  xor: 'xor',
  rings: 'rings',
  own: 'your own points',
};

interface Chosen {
  store: Store;
  ui: Ui;
  /** Selects a data set and starts training on it. */
  onData(data: DataSet): void;
  onPretrained(name: string): void;
}

export function dataBar({ store, onData, onPretrained }: Chosen) {
  const { model, data } = store.state;
  const trained = model === 'trained';
  return html`<div class="bar models" role="group" aria-label="Network">
    ${Object.entries(pretrained).map(
      ([name, { title }]) =>
        html`<button class="chip" aria-pressed=${model === name} @click=${() => onPretrained(name)}>${title}</button>`,
    )}
    <span class="muted small">or train on</span>
    ${(Object.keys(icons) as DataSet[]).map(
      (name) =>
        html`<button
          class="icon"
          title=${dataNames[name]}
          aria-label="Train on ${dataNames[name]}"
          aria-pressed=${trained && data === name}
          @click=${() => onData(name)}
        >
          ${icons[name]}
        </button>`,
    )}
  </div>`;
}

export function trainingBar(store: Store, trainer: Trainer, { play, reset }: { play(): void; reset(): void }) {
  const { model, epochs } = store.state;
  const trained = model === 'trained';
  const { score, playing } = trainer;
  return html`<div class="bar training" role="group" aria-label="Training">
    <button class=${playing ? '' : 'primary'} @click=${() => (playing ? trainer.pause() : play())}>
      ${playing ? 'Pause' : trained ? 'Play' : 'Train'}
    </button>
    <button @click=${() => trainer.step()} ?disabled=${playing || !trained}>Step</button>
    <button @click=${reset} ?disabled=${!trained}>Reset</button>
    <span class="small muted" data-epoch=${epochs}>
      ${trained && score ? html`epoch <b>${Math.round(score.epoch)}</b>, loss ${score.loss.toFixed(3)}, accuracy <b>${(100 * score.accuracy).toFixed(0)}%</b>` : nothing}
      ${trained ? nothing : 'pretrained'}
    </span>
  </div>`;
}

const numberField = (label: string, value: number, low: number, high: number, set: (value: number) => void) =>
  html`<label class="field"
    ><span>${label}</span>
    <input
      type="number"
      min=${low}
      max=${high}
      .value=${String(value)}
      @change=${(event: Event) => {
        const next = Math.round(Number((event.target as HTMLInputElement).value));
        set(Math.min(high, Math.max(low, next || low)));
      }}
  /></label>`;

const choices = [[], [8], [16], [32], [8, 8], [16, 16], [32, 32], [16, 16, 16]];

function widths(store: Store) {
  const now = store.state.hidden.join(',');
  const all = choices.some((each) => each.join(',') === now) ? choices : [...choices, store.state.hidden];
  return html`<label class="field"
    ><span>Hidden layers</span>
    <select
      @change=${(event: Event) => store.set({ hidden: (event.target as HTMLSelectElement).value.split(',').filter(Boolean).map(Number) })}
    >
      ${all.map((each) => html`<option value=${each.join(',')} ?selected=${each.join(',') === now}>${each.length ? each.join(' · ') : 'none: linear'}</option>`)}
    </select></label
  >`;
}

const activationField = (store: Store) =>
  html`<label class="field"
    ><span>Activation</span>
    <select
      @change=${(event: Event) => store.set({ activation: (event.target as HTMLSelectElement).value as State['activation'] })}
    >
      ${activations.map((each) => html`<option ?selected=${each === store.state.activation}>${each}</option>`)}
    </select></label
  >`;

export function ownPoints({ store, ui }: Chosen, setAdding: (of: number | undefined) => void) {
  const { points } = store.state;
  return html`<div class="field own">
    <span>Your own points: choose a class, then click in the picture</span>
    <div class="chips" role="group" aria-label="Class of new points">
      ${Array.from(
        { length: colourCount },
        (_, of) =>
          html`<button
            class="chip"
            .style="--dot: ${classColour(of)}"
            aria-pressed=${ui.adding === of}
            @click=${() => setAdding(ui.adding === of ? undefined : of)}
          >
            <i class="dot"></i>${letter(of)}
          </button>`,
      )}
      <button class="chip" ?disabled=${points.length === 0} @click=${() => store.set({ points: [], epochs: 0 })}>clear</button>
    </div>
  </div>`;
}

export function settings(store: Store) {
  const { state } = store;
  return html`
    ${sliderFromZero({ label: 'Smoothness, lambda', low: 0.001, high: 1, value: state.lambda, set: (lambda) => store.set({ lambda }) })}
    ${sliderFromZero({ label: 'Training noise', low: 0.01, high: 1, value: state.augmentation, set: (augmentation) => store.set({ augmentation }) })}
    ${widths(store)} ${activationField(store)}
    ${numberField('Seed', state.trainSeed, 0, 9999, (trainSeed) => store.set({ trainSeed }))}
    ${hasClassChoice(state.data) ? numberField('Classes', state.classes, 2, 6, (classes) => store.set({ classes })) : nothing}
  `;
}

const noiseNames: Record<NoiseKind, string> = { gaussian: 'Gaussian', uniform: 'uniform', laplace: 'Laplace' };

function noiseChips(store: Store) {
  const { noise, clip } = store.state;
  return html`<div class="chips" role="group" aria-label="Distribution of the noise">
    ${noiseKinds.map(
      (kind) =>
        html`<button class="chip" aria-pressed=${noise === kind} @click=${() => store.set({ noise: kind })}>
          ${noiseNames[kind]}
        </button>`,
    )}
    <button
      class="chip"
      aria-pressed=${clip}
      title="Noisy samples are clipped to the sensor's range"
      @click=${() => store.set({ clip: !clip })}
    >
      clipped to ±1.2
    </button>
  </div>`;
}

export const shapeControls = (store: Store) =>
  html`${noiseChips(store)} ${store.state.noise === 'gaussian' ? ellipseControls(store) : nothing}`;

const ellipseControls = (store: Store) => html`
  ${slider({ label: 'Axis ratio', low: 1, high: 8, value: store.state.ratio, set: (ratio) => store.set({ ratio }) })}
  <label class="slider">
    <span>Direction <b>${Math.round(store.state.angle)}°</b></span>
    <input
      type="range"
      min="-90"
      max="90"
      step="1"
      .value=${String(store.state.angle)}
      aria-valuetext="${Math.round(store.state.angle)} degrees"
      @input=${(event: Event) => store.set({ angle: Number((event.target as HTMLInputElement).value) })}
    />
  </label>
`;

export const controlStyles = css`
  .chip .dot {
    width: 10px;
    height: 10px;
    border-radius: 50%;
    background: var(--dot);
  }
  .icon {
    display: inline-grid;
    place-items: center;
    width: 34px;
    min-height: 34px;
    padding: 0;
  }
  .icon svg {
    width: 24px;
    height: 24px;
    fill: none;
    stroke-width: 2.5;
  }
  .icon[aria-pressed='true'] {
    color: var(--ink);
    background: var(--soft);
    border-color: var(--ink);
  }
  .icon .a {
    stroke: var(--class-0);
  }
  .icon .b {
    stroke: var(--class-1);
  }
  .icon .c {
    stroke: var(--class-2);
  }
  .icon .a.f {
    fill: var(--class-0);
  }
  .icon .b.f {
    fill: var(--class-1);
  }
  .icon .c.f {
    fill: var(--class-2);
  }
  .icon .f {
    stroke: none;
  }
  .icon .i {
    stroke: currentColor;
  }
  .field {
    align-content: start;
  }
  .field input {
    width: 6rem;
  }
`;
