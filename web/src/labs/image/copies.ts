// SPDX-License-Identifier: MIT
// Pictures of noisy samples: exactly the counted ones, and a preview at each of several noise scales.
import { css, html, nothing } from 'lit';
import type { Curves } from '../../panels/curves.js';
import { percent, tidy } from '../../panels/words.js';
import { countForm, previewScales, type Preview, type Quick } from './answers.js';
import { indexLabel } from './number.js';
import { toImageData, type Shape } from './picture.js';
import './pixels.js';

const shown = 16;

const sliceOf = (values: Float32Array, at: number, { channels, height, width }: Shape): Float32Array => {
  const length = channels * height * width;
  return values.subarray(at * length, (at + 1) * length);
};

export function copiesGrid({ cloud, row, asked }: Quick, shape: Shape, stale: boolean) {
  const count = Math.min(shown, cloud.predicted.length);
  return html`<figure class="copies ${stale ? 'stale' : ''}">
    <div class="grid" role="img" aria-label="${count} noisy samples, each with its prediction">
      ${Array.from({ length: count }, (_, i) => {
        const of = cloud.predicted[i]!;
        const image = toImageData({ ...shape, values: sliceOf(cloud.x, i, shape) });
        return html`<span class="copy ${of === row.target ? '' : 'miss'}"
          ><probust-pixels .image=${image}></probust-pixels><b>${indexLabel(of)}</b></span
        >`;
      })}
    </div>
    <figcaption class="small muted">
      Noisy samples at sigma ${tidy(asked.sigma)}, each with its prediction. A frame marks a changed prediction.
    </figcaption>
  </figure>`;
}

interface PreviewsView {
  previews: readonly Preview[] | undefined;
  curves: Curves | undefined;
  shape: Shape;
  target: number | undefined;
  copies: number;
  sigma: number;
  onSigma(sigma: number): void;
}

/** p at one of the curve's scales, as text. */
function shareAt({ curves, copies }: PreviewsView, sigma: number): string {
  const row = curves?.byEstimator.get(countForm({ copies }))?.[curves.sigmas.indexOf(sigma)];
  return row ? percent(row.p) : '…';
}

export function previewStrip(view: PreviewsView) {
  const { previews, shape, target, sigma, onSigma } = view;
  return html`<div class="previews">
    ${previewScales.map((scale, i) => {
      const found = previews?.[i];
      const miss = found && target !== undefined && found.predicted !== target;
      return html`<button
        class="preview"
        aria-pressed=${sigma === scale}
        aria-label="Sigma ${scale}: ${shareAt(view, scale)} keep the prediction${found ? `; the prediction for this sample is ${indexLabel(found.predicted)}` : ''}"
        @click=${() => onSigma(scale)}
      >
        <span class="copy ${miss ? 'miss' : ''}"
          ><probust-pixels .image=${found && toImageData({ ...shape, values: found.values })}></probust-pixels>${
            found ? html`<b>${indexLabel(found.predicted)}</b>` : nothing
          }</span
        >
        <span>${tidy(scale)}</span><span class="muted">${shareAt(view, scale)}</span>
      </button>`;
    })}
  </div>`;
}

export const copiesStyles = css`
  .copies {
    margin: 0;
  }
  .copies .grid {
    display: grid;
    grid-template-columns: repeat(4, 1fr);
    gap: 6px;
  }
  .copies figcaption {
    margin-top: 0.4rem;
  }
  .copy {
    position: relative;
    display: block;
    border-radius: 5px;
    border: 2px solid transparent;
  }
  .copy probust-pixels {
    border-radius: 3px;
  }
  .copy b {
    position: absolute;
    right: 0;
    bottom: 0;
    min-width: 1.3em;
    padding: 0 0.25em;
    border-radius: 4px 0 3px;
    font-size: 0.75rem;
    line-height: 1.35;
    text-align: center;
    background: var(--paper);
    color: var(--ink);
  }
  .copy.miss {
    border: 2px dashed var(--warm);
  }
  .copy.miss b {
    background: var(--ink);
    color: var(--paper);
  }
  .previews {
    display: grid;
    grid-template-columns: repeat(5, minmax(0, 1fr));
    gap: 6px;
  }
  .preview {
    display: grid;
    justify-items: center;
    gap: 0.1rem;
    padding: 4px 2px;
    border-color: transparent;
    font-size: 0.8125rem;
  }
  .preview .copy {
    width: 100%;
  }
  .preview[aria-pressed='true'] {
    background: var(--soft);
    border-color: var(--ink);
    color: var(--ink);
  }
`;
