// SPDX-License-Identifier: MIT
// Controls that several labs use.
import { html, nothing } from 'lit';
import { tidy } from '../panels/words.js';
import type { Store } from '../state/store.js';

export interface Slide {
  label: string;
  unit?: string;
  low: number;
  high: number;
  value: number;
  /** The value as text; two significant digits by default. */
  format?: (value: number) => string;
  set(value: number): void;
}

const steps = 200;

/** A logarithmic slider: small values are as easy to set as large ones. */
export function slider({ label, unit = '', low, high, value, format = (each) => tidy(each, 2), set }: Slide) {
  const toPosition = (each: number) => Math.round(steps * (Math.log(each / low) / Math.log(high / low)));
  const toValue = (position: number) => Number((low * (high / low) ** (position / steps)).toPrecision(3));
  return html`<label class="slider">
    <span>${label} <b>${format(value)}</b> ${unit ? html`<span class="muted">${unit}</span>` : nothing}</span>
    <input
      type="range"
      min="0"
      max=${steps}
      .value=${String(toPosition(Math.max(low, value)))}
      aria-valuetext="${format(value)} ${unit}"
      @input=${(event: Event) => set(toValue(Number((event.target as HTMLInputElement).value)))}
    />
  </label>`;
}

/** A logarithmic slider whose left end is zero. */
export const sliderFromZero = (slide: Slide) =>
  slider({
    ...slide,
    value: Math.max(slide.low, slide.value),
    format: () => (slide.value === 0 ? 'off' : tidy(slide.value, 2)),
    set: (value) => slide.set(value <= slide.low ? 0 : value),
  });

/** Draws new noise, with the next seed. */
export const newNoise = (store: Store) => {
  const { seed } = store.state;
  return html`<button class="chip" @click=${() => store.set({ seed: (seed + 1) % 2 ** 31 })}>new noise</button>`;
};

/** The units of sigma in the 2-D lab, and for images. */
export const dataUnit = 'units of the data';
export const pixelUnit = 'shares of the pixel range';

/** The slider of sigma, the scale of the noise. */
export const sigmaSlider = (slide: Omit<Slide, 'label' | 'format'>) =>
  slider({ ...slide, label: 'Noise, sigma', format: (sigma) => sigma.toFixed(sigma < 0.1 ? 3 : 2) });
