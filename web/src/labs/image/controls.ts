// SPDX-License-Identifier: MIT
// The image lab's controls: everything that changes the state or opens files.
import { css, html, nothing } from 'lit';
import { percentOf } from '../../panels/words.js';
import { layouts, type Layout, type State } from '../../state/state.js';
import type { Store } from '../../state/store.js';
import { label } from './number.js';
import { plainPanel, type FigureParts } from './figures.js';
import { blank, encode, inverted, shapeWords, type Picture } from './picture.js';
import { plain, type Session } from './session.js';
import type { Ui } from './ui.js';

/** A logarithmic slider: small values are as easy to set as large ones. */
const low = 0.01;
const high = 1;
const steps = 200;
const toPosition = (sigma: number) => Math.round(steps * (Math.log(Math.max(low, sigma) / low) / Math.log(high / low)));
const toSigma = (position: number) => Number((low * (high / low) ** (position / steps)).toPrecision(3));

export const sigmaSlider = (store: Store) => {
  const { imageSigma: sigma, imageClip } = store.state;
  return html`<div class="sigma">
    <label class="slider">
      <span
        >Noise, sigma <b>${sigma.toFixed(sigma < 0.1 ? 3 : 2)}</b>
        <span class="muted">of the range from black to white</span></span
      >
      <input
        type="range"
        min="0"
        max=${steps}
        .value=${String(toPosition(sigma))}
        aria-valuetext=${String(sigma)}
        @input=${(event: Event) => store.set({ imageSigma: toSigma(Number((event.target as HTMLInputElement).value)) })}
      />
    </label>
    <div class="bar small">
      <button class="chip" aria-pressed=${imageClip} @click=${() => store.set({ imageClip: !imageClip })}>
        clip copies to black and white
      </button>
      <label class="count"
        >copies counted
        <select @change=${(event: Event) => store.set({ imageCopies: Number((event.target as HTMLSelectElement).value) })}>
          ${countsWith(store.state.imageCopies).map((count) => html`<option value=${count} ?selected=${count === store.state.imageCopies}>${count.toLocaleString('en')}</option>`)}
        </select>
      </label>
    </div>
  </div>`;
};

const counts = [100, 300, 1000, 3000, 10_000];
const countsWith = (count: number) => (counts.includes(count) ? counts : [...counts, count].sort((a, b) => a - b));

/** A button that opens a file. */
const opener = (text: string, accept: string, opened: (file: File) => void) =>
  html`<label class="chip opener"
    >${text}<input
      class="visually-hidden"
      type="file"
      accept=${accept}
      @change=${(event: Event) => {
        const input = event.target as HTMLInputElement;
        const [file] = input.files ?? [];
        // Allows opening the same file again.
        if (file) opened(file);
        input.value = '';
      }}
  /></label>`;

export interface Opening {
  store: Store;
  session: Session;
  onFile(file: File): void;
}

const byDefault = { ...plain, imageCopies: 1000 };

export function modelBar({ store, session, onFile }: Opening) {
  const { imageModel } = store.state;
  return html`<div class="bar models" role="group" aria-label="What answers">
    <button
      class="chip"
      aria-pressed=${imageModel === 'digits'}
      @click=${() => store.set({ imageModel: 'digits', ...byDefault })}
    >
      our digits network
    </button>
    ${
      imageModel === 'own' && session.name
        ? html`<span class="chip named" title=${session.name}>${session.name}</span>`
        : imageModel !== 'digits' && imageModel !== 'own'
          ? html`<span class="chip named" title=${imageModel}>${imageModel.split('/').at(-1)}</span>`
          : nothing
    }
    ${opener('your own ONNX model…', '.onnx', onFile)}
    <span class="muted small"
      >${session.loaded?.refusal === undefined ? 'or drop a model or an image anywhere' : html`<b>on ONNX Runtime Web: no gradients</b>`}</span
    >
  </div>`;
}

export function digitBar({ store, onFile }: Opening, picture: Picture | undefined, ui: Ui, point: (change: Partial<Ui>) => void) {
  const { imageDigit, imageVariant, imagePixels } = store.state;
  const generated = imagePixels === '';
  const paint = (next: Picture) => store.set({ imagePixels: encode(next) });
  return html`<div class="bar digits" role="group" aria-label="Which image">
      ${Array.from(
        { length: 10 },
        (_, digit) =>
          html`<button
            class="digit"
            aria-label="A digit ${digit} from the generator"
            aria-pressed=${generated && digit === imageDigit}
            @click=${() => store.set({ imageDigit: digit, imagePixels: '' })}
          >
            ${digit}
          </button>`,
      )}
      <button class="chip" @click=${() => store.set({ imageVariant: (imageVariant + 1) % 10_000, imagePixels: '' })}>
        another
      </button>
    </div>
    <div class="bar tools" role="group" aria-label="Drawing">
      <button class="chip" aria-pressed=${!ui.erase} @click=${() => point({ erase: false })}>pen</button>
      <button class="chip" aria-pressed=${ui.erase} @click=${() => point({ erase: true })}>rubber</button>
      <button class="chip" ?disabled=${!picture} @click=${() => paint(blank(picture!))}>clear</button>
      <button class="chip" ?disabled=${!picture} @click=${() => paint(inverted(picture!))}>invert</button>
      ${opener('open an image…', 'image/*', onFile)}
    </div>`;
}

interface Preset {
  name: string;
  mean: number[];
  std: number[];
}

/** x is in [0, 1]; the model's input is (x - mean) / std. */
const presets: Preset[] = [
  { name: '0 to 1', mean: [0], std: [1] },
  { name: '−1 to 1', mean: [0.5], std: [0.5] },
  { name: '0 to 255', mean: [0], std: [1 / 255] },
  { name: 'MNIST’s mean and std', mean: [0.1307], std: [0.3081] },
  { name: 'CIFAR-10’s', mean: [0.4914, 0.4822, 0.4465], std: [0.247, 0.2435, 0.2616] },
  { name: 'ImageNet’s', mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] },
];

const layoutNames: Record<Layout, string> = {
  auto: 'by its shape',
  nchw: 'channel by channel',
  nhwc: 'pixel by pixel',
  whcn: 'columns first',
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

function preparationFields(store: Store, channels: number) {
  const { imageMean, imageStd, imageLayout } = store.state;
  const fitting = presets.filter(({ mean }) => mean.length <= channels);
  const chosen = fitting.find(({ mean, std }) => sameNumbers(mean, imageMean) && sameNumbers(std, imageStd));
  return html`<div class="controls">
    <label class="field"
      ><span>Pixels it was trained on</span>
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
      ><span>Order of its numbers</span>
      <select @change=${(event: Event) => store.set({ imageLayout: (event.target as HTMLSelectElement).value as Layout })}>
        ${layouts.map((each) => html`<option value=${each} .selected=${each === imageLayout}>${layoutNames[each]}</option>`)}
      </select></label
    >
    ${numbersField('Mean', 'imageMean', store)} ${numbersField('Standard deviation', 'imageStd', store)}
  </div>`;
}

/** An error message without its advice, which is for the command line. */
const sentence = (message: string): string => message.split(';')[0]!;

/** Which engine runs the network, and what that rules out. */
export function engineLine({ loaded }: Session) {
  if (!loaded) return nothing;
  const { model, refusal } = loaded;
  if (refusal === undefined)
    return html`<p class="small engine" data-engine="probust">
      Runs on probust’s own engine, with gradients: every estimator can be asked.
    </p>`;
  return html`<p class="small engine" data-engine=${model.info.engine}>
    <b>Runs on ${model.info.engine.replace('onnxruntime-web', 'ONNX Runtime Web')}</b>, since probust’s own engine refuses it:
    ${sentence(refusal)}. It gives no gradients: taylor, mmse, regression, adf and the nearest boundary are ruled out; counting
    and probit are not.
  </p>`;
}

export function modelPanel({ store, answers }: FigureParts, session: Session) {
  const { loaded } = session;
  if (!loaded) return nothing;
  const { info } = loaded.model;
  const row = answers.quick?.value.row;
  const softmax = answers.listed?.value.rows.find(({ estimator }) => estimator.startsWith('softmax'));
  return plainPanel({
    id: 'model',
    title: 'The network and its input',
    words:
      'A network answers well only if its input is prepared as in its training. Change the preparation until the answer without noise is right.',
    content: html`<div class="network">
      <div>
        <dl class="facts small">
          <dt>expects</dt>
          <dd>${shapeWords(loaded.shape)}, as [${info.inputShape.join(', ')}]</dd>
          <dt>answers</dt>
          <dd>one of ${info.classes} classes</dd>
          <dt>weights</dt>
          <dd>${info.parameters.toLocaleString('en')}${info.producer ? `, by ${info.producer}` : ''}</dd>
          <dt>without noise</dt>
          <dd data-clean=${row?.predicted ?? ''}>
            ${row ? html`it says <b>${label(row.predicted)}</b>` : '…'}${softmax?.p == null ? nothing : `, with confidence ${percentOf(softmax)}`}
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
  .slider {
    display: block;
    font-size: 0.9375rem;
  }
  .bar {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0.35rem 0.4rem;
  }
  .chip {
    display: inline-flex;
    align-items: center;
    min-height: 30px;
    padding: 0 0.65rem;
    border: 1px solid var(--line);
    border-radius: 999px;
    font-size: 0.8125rem;
    color: var(--muted);
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
    display: grid;
    gap: 0.2rem;
    font-size: 0.9375rem;
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
