// SPDX-License-Identifier: MIT
// The image lab's controls: everything that changes the state or opens files.
import { css, html, nothing } from 'lit';
import type { Row } from 'probust';
import { percentOf } from '../../panels/words.js';
import { layouts, type Layout, type State } from '../../state/state.js';
import { plainPanel } from '../../panels/panel.js';
import type { Store } from '../../state/store.js';
import { smallNumber } from '../big-number.js';
import { newNoise, pixelUnit, sigmaSlider } from '../controls.js';
import type { FigureParts } from './figures.js';
import { blank, encode, inverted, shapeWords, type Picture } from './picture.js';
import { plain, type ImageSession } from './session.js';
import type { Ui } from './ui.js';

export const sigmaBar = (store: Store, counted: Row | undefined) => {
  const { imageSigma, imageClip, imageCopies } = store.state;
  return html`<div class="sigma">
    ${smallNumber(counted)}
    ${sigmaSlider({
      unit: pixelUnit,
      low: 0.01,
      high: 1,
      value: imageSigma,
      set: (sigma) => store.set({ imageSigma: sigma }),
    })}
    <div class="bar small">
      <button class="chip" aria-pressed=${imageClip} @click=${() => store.set({ imageClip: !imageClip })}>
        clip samples to 0..1
      </button>
      ${newNoise(store)}
      <label class="count"
        >noisy samples
        <select @change=${(event: Event) => store.set({ imageCopies: Number((event.target as HTMLSelectElement).value) })}>
          ${countsWith(imageCopies).map((count) => html`<option value=${count} ?selected=${count === imageCopies}>${count.toLocaleString('en')}</option>`)}
        </select>
      </label>
    </div>
  </div>`;
};

const counts = [100, 300, 1000, 3000, 10_000];
const countsWith = (count: number) => (counts.includes(count) ? counts : [...counts, count].sort((a, b) => a - b));

/** A button for opening a file. */
const opener = (text: string, accept: string, opened: (file: File) => void) =>
  html`<label class="chip opener"
    >${text}<input
      class="visually-hidden"
      type="file"
      accept=${accept}
      @change=${(event: Event) => {
        const input = event.target as HTMLInputElement;
        const [file] = input.files ?? [];
        if (file) opened(file);
        // Allows opening the same file again.
        input.value = '';
      }}
  /></label>`;

export interface Opening {
  store: Store;
  session: ImageSession;
  onFile(file: File): void;
}

const byDefault = { ...plain, imageCopies: 1000, imageNames: [] };

export function modelBar({ store, session, onFile }: Opening) {
  const { imageModel } = store.state;
  return html`<div class="bar models" role="group" aria-label="Network">
    <button
      class="chip"
      aria-pressed=${imageModel === 'digits'}
      @click=${() => store.set({ imageModel: 'digits', ...byDefault })}
    >
      digits network
    </button>
    ${
      imageModel === 'own' && session.name
        ? html`<span class="chip named" title=${session.name}>${session.name}</span>`
        : imageModel !== 'digits' && imageModel !== 'own'
          ? html`<span class="chip named" title=${imageModel}>${imageModel.split('/').at(-1)}</span>`
          : nothing
    }
    ${opener('open a model…', '.onnx', onFile)}
    <span class="muted small"
      >${session.loaded?.refusal === undefined ? 'or drop a model or an image anywhere' : html`<b>on ONNX Runtime Web: no gradients</b>`}</span
    >
  </div>`;
}

export function digitBar({ store, onFile }: Opening, picture: Picture | undefined, ui: Ui, point: (change: Partial<Ui>) => void) {
  const { imageDigit, imageVariant, imagePixels } = store.state;
  const generated = imagePixels === '';
  const paint = (next: Picture) => store.set({ imagePixels: encode(next) });
  return html`<div class="bar digits" role="group" aria-label="Digit">
      ${Array.from(
        { length: 10 },
        (_, digit) =>
          html`<button
            class="digit"
            aria-label="Generated digit ${digit}"
            aria-pressed=${generated && digit === imageDigit}
            @click=${() => store.set({ imageDigit: digit, imagePixels: '' })}
          >
            ${digit}
          </button>`,
      )}
      <button class="chip" @click=${() => store.set({ imageVariant: (imageVariant + 1) % 10_000, imagePixels: '' })}>
        redraw
      </button>
    </div>
    <div class="bar tools" role="group" aria-label="Drawing">
      <button class="chip" aria-pressed=${!ui.erase} @click=${() => point({ erase: false })}>pen</button>
      <button class="chip" aria-pressed=${ui.erase} @click=${() => point({ erase: true })}>eraser</button>
      <button class="chip" ?disabled=${!picture} @click=${() => paint(blank(picture!))}>clear</button>
      <button class="chip" ?disabled=${!picture} @click=${() => paint(inverted(picture!))}>invert</button>
      ${opener('open an image…', 'image/*', onFile)}
    </div>`;
}

/** A common kind of preprocessing of pixels. */
interface Preset {
  name: string;
  /** x is in [0, 1]; the model's input is (x - mean) / std. */
  mean: number[];
  std: number[];
}

const presets: Preset[] = [
  { name: '0 to 1', mean: [0], std: [1] },
  { name: '−1 to 1', mean: [0.5], std: [0.5] },
  { name: '0 to 255', mean: [0], std: [1 / 255] },
  { name: 'MNIST', mean: [0.1307], std: [0.3081] },
  { name: 'CIFAR-10', mean: [0.4914, 0.4822, 0.4465], std: [0.247, 0.2435, 0.2616] },
  { name: 'ImageNet', mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] },
];

const layoutNames: Record<Layout, string> = {
  auto: 'from its shape',
  nchw: 'channels first (NCHW)',
  nhwc: 'channels last (NHWC)',
  whcn: 'columns first (WHCN)',
};

const sameNumbers = (a: readonly number[], b: readonly number[]) =>
  a.length === b.length && a.every((value, i) => Math.abs(value - b[i]!) < 1e-6);

const numbersField = (name: string, key: 'imageMean' | 'imageStd', store: Store) =>
  html`<label class="field"
    ><span>${name}</span>
    <input
      type="text"
      inputmode="decimal"
      .value=${store.state[key].map((value) => String(Number(value.toPrecision(6)))).join(', ')}
      @change=${(event: Event) => {
        const values = (event.target as HTMLInputElement).value
          .split(/[\s,;]+/)
          .filter(Boolean)
          .map(Number);
        const right =
          [1, 3].includes(values.length) && values.every((value) => Number.isFinite(value) && (key === 'imageMean' || value > 0));
        if (right) store.set({ [key]: values } as Partial<State>);
        else (event.target as HTMLInputElement).value = store.state[key].join(', ');
      }}
  /></label>`;

/** The class names, in the order of the model's classes. */
const namesField = (store: Store) =>
  html`<label class="field"
    ><span>Class names</span>
    <input
      type="text"
      placeholder="cat, dog, …"
      .value=${store.state.imageNames.join(', ')}
      @change=${(event: Event) => {
        const names = (event.target as HTMLInputElement).value.split(',').map((name) => name.trim());
        store.set({ imageNames: names.filter(Boolean) });
      }}
  /></label>`;

function preparationFields(store: Store, channels: number) {
  const { imageMean, imageStd, imageLayout } = store.state;
  const fitting = presets.filter(({ mean }) => mean.length <= channels);
  const chosen = fitting.find(({ mean, std }) => sameNumbers(mean, imageMean) && sameNumbers(std, imageStd));
  return html`<div class="controls">
    <label class="field"
      ><span>Input scaling</span>
      <select
        @change=${(event: Event) => {
          const preset = fitting.find(({ name }) => name === (event.target as HTMLSelectElement).value);
          if (preset) store.set({ imageMean: preset.mean, imageStd: preset.std });
        }}
      >
        ${fitting.map(({ name }) => html`<option .selected=${name === chosen?.name}>${name}</option>`)}
        <option .selected=${!chosen} ?disabled=${chosen !== undefined}>other</option>
      </select></label
    >
    <label class="field"
      ><span>Input layout</span>
      <select @change=${(event: Event) => store.set({ imageLayout: (event.target as HTMLSelectElement).value as Layout })}>
        ${layouts.map((each) => html`<option value=${each} .selected=${each === imageLayout}>${layoutNames[each]}</option>`)}
      </select></label
    >
    ${numbersField('Mean', 'imageMean', store)} ${numbersField('Standard deviation', 'imageStd', store)} ${namesField(store)}
  </div>`;
}

/** A line that says which engine runs the network, and which estimators that engine lacks. */
function engineLine({ loaded }: ImageSession) {
  if (!loaded) return nothing;
  const { model, refusal } = loaded;
  if (refusal === undefined)
    return html`<p class="small engine" data-engine="probust">
      Runs on probust’s own engine, with gradients: every estimator is available.
    </p>`;
  return html`<p class="small engine" data-engine=${model.info.engine}>
    <b>Runs on ${model.info.engine.replace('onnxruntime-web', 'ONNX Runtime Web')}</b>, because probust’s own engine cannot run
    it: ${refusal}. There are no gradients, so taylor, mmse, regression, adf and the nearest boundary are not available; mc and
    probit are.
  </p>`;
}

export function modelPanel({ store, answers, label }: FigureParts, session: ImageSession) {
  const { loaded } = session;
  if (!loaded) return nothing;
  const { info } = loaded.model;
  const row = answers.quick?.value.row;
  const softmax = answers.listed?.value.rows.find(({ estimator }) => estimator.startsWith('softmax'));
  return plainPanel({
    id: 'model',
    title: 'The network and its input',
    words:
      'A network works well only if its input is scaled as in training. Change the scaling until the prediction without noise is right.',
    content: html`<div class="network">
      <div>
        <dl class="facts small">
          <dt>input</dt>
          <dd>${shapeWords(loaded.shape)}, as [${info.inputShape.join(', ')}]</dd>
          <dt>output</dt>
          <dd>one of ${info.classes} classes</dd>
          <dt>parameters</dt>
          <dd>${info.parameters.toLocaleString('en')}${info.producer ? `, by ${info.producer}` : ''}</dd>
          <dt>without noise</dt>
          <dd data-clean=${row?.predicted ?? ''}>
            ${row ? html`<b>${label(row.predicted)}</b>` : '…'}${softmax?.p == null ? nothing : `, with confidence ${percentOf(softmax)}`}
          </dd>
        </dl>
        ${engineLine(session)} ${info.notes.length ? html`<p class="small muted">${info.notes.join('. ')}.</p>` : nothing}
      </div>
      ${preparationFields(store, loaded.shape.channels)}
    </div>`,
    source: html`Input = (x − mean) / std for pixels x from 0 to 1; the noise is added to x, before that. Nothing leaves your
    machine.`,
  });
}

export const controlStyles = css`
  .bar {
    gap: 0.35rem 0.4rem;
  }
  /* Buttons, and also labels of file inputs, and names of files. */
  .chip {
    min-height: 30px;
    border: 1px solid var(--line);
    background: var(--paper);
    cursor: pointer;
  }
  .chip:hover {
    border-color: var(--muted);
  }
  .chip[aria-pressed='true'],
  .chip.named {
    background: var(--soft);
    border-color: var(--muted);
    color: var(--ink);
  }
  .chip.named {
    display: inline-block;
    line-height: 28px;
    max-width: 15rem;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
    cursor: default;
  }
  .opener {
    position: relative;
  }
  .opener:focus-within {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  .digit {
    min-width: 34px;
    min-height: 34px;
    padding: 0;
  }
  .digit[aria-pressed='true'] {
    background: var(--soft);
    border-color: var(--ink);
    color: var(--ink);
    font-weight: 650;
  }
  .count {
    display: inline-flex;
    align-items: center;
    gap: 0.4rem;
    color: var(--muted);
  }
  .count select {
    min-height: 30px;
    padding: 0 0.3rem;
    font-size: 0.8125rem;
  }
  .field {
    min-width: 0;
  }
  .field input,
  .field select {
    width: 100%;
    min-width: 0;
  }
  .facts {
    display: grid;
    grid-template-columns: auto 1fr;
    gap: 0.1rem 0.8rem;
    margin: 0 0 0.5rem;
  }
  .facts dt {
    color: var(--muted);
  }
  .facts dd {
    margin: 0;
  }
`;
