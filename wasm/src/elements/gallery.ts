// SPDX-License-Identifier: MIT
// <probust-gallery>: the least and the most robust points, as images if possible, otherwise as numbers.
import { css, html, nothing, type TemplateResult } from 'lit';
import { rank } from '../analysis.js';
import type { Probust } from '../api.js';
import { usage } from '../errors.js';
import type { Numbers, Row } from '../types.js';
import { className, ProbustElement, type Answer } from './base.js';
import { imageOf, type Pixels } from './image.js';
import { theme } from './theme.js';
import { percent, short } from './words.js';

/** One point of the gallery. */
export interface Exhibit {
  row: Row;
  image: Pixels | undefined;
  /** The first values of the point, if it is not an image. */
  values: string;
}

export interface GalleryView {
  least: Exhibit[];
  most: Exhibit[];
  names: (label: number) => string;
}

const shownValues = 6;

function exhibit(row: Row, { points, shape }: Answer): Exhibit {
  if (!points) return { row, image: undefined, values: '' };
  const count = shape?.reduce((all, each) => all * each, 1);
  if (!count) return { row, image: undefined, values: '' }; // a plain list of numbers does not tell the size of a point
  const at = row.index - (points.index ?? 0);
  const x: Numbers = points.x.slice(at * count, (at + 1) * count);
  const image = shape && imageOf(x, shape);
  const values = Array.from(x.slice(0, shownValues), short).join(', ');
  return { row, image, values: image ? '' : values + (x.length > shownValues ? ', …' : '') };
}

export class ProbustGallery extends ProbustElement<GalleryView> {
  static override properties = { count: { type: Number } };
  static override styles = [
    theme,
    css`
      h3 {
        margin: 0 0 0.4rem;
        font-size: 1rem;
        font-weight: 600;
      }
      ol {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(6.5rem, 1fr));
        gap: 0.6rem;
        margin: 0 0 1rem;
        padding: 0;
        list-style: none;
      }
      button {
        display: block;
        width: 100%;
        padding: 0.35rem;
        border: 1px solid var(--line);
        border-radius: 4px;
        background: none;
        color: inherit;
        font: inherit;
        text-align: left;
        cursor: pointer;
      }
      canvas {
        display: block;
        width: 100%;
        image-rendering: pixelated;
      }
      strong {
        display: block;
        font-weight: 600;
        font-variant-numeric: tabular-nums;
      }
      small {
        display: block;
        color: var(--muted);
        overflow-wrap: anywhere;
      }
    `,
  ];

  /** The number of points at each end, the least and the most robust; 6 by default. */
  declare count: number;

  protected override readonly more = ['count'];

  constructor() {
    super();
    this.count = 6;
  }

  protected override async present(answer: Answer, probust: () => Promise<Probust>): Promise<GalleryView> {
    const [first] = await rank(await probust(), answer.rows, { count: this.count ?? 6 });
    if (first === undefined) throw usage('there are no rows', 'give rows of several points');
    const exhibits = (rows: readonly Row[]) => rows.map((row) => exhibit(row, answer));
    return { least: exhibits(first.least), most: exhibits(first.most), names: (label) => className(answer, label) };
  }

  protected override updated(): void {
    for (const canvas of this.renderRoot.querySelectorAll('canvas')) {
      const image = this.#exhibits()[Number(canvas.dataset['at'])]?.image;
      if (!image) continue;
      Object.assign(canvas, { width: image.width, height: image.height });
      canvas.getContext('2d')!.putImageData(new ImageData(image.rgba, image.width, image.height), 0, 0);
    }
  }

  protected override show({ least, most, names }: GalleryView): unknown {
    return html`<h3>Least robust</h3>
      <ol part="least">
        ${least.map((each, i) => this.#item(each, i, names))}
      </ol>
      <h3>Most robust</h3>
      <ol part="most">
        ${most.map((each, i) => this.#item(each, least.length + i, names))}
      </ol>`;
  }

  #exhibits(): Exhibit[] {
    return this.view ? [...this.view.least, ...this.view.most] : [];
  }

  #item({ row, image, values }: Exhibit, at: number, names: (label: number) => string): TemplateResult {
    const wrong = row.label !== null && row.label !== row.predicted;
    const said = wrong ? `${names(row.predicted)}, should be ${names(row.label!)}` : names(row.predicted);
    return html`<li>
      <button part="point" @click=${() => this.emit('select', { row })}>
        ${image ? html`<canvas data-at=${at} role="img" aria-label="point ${row.index}"></canvas>` : nothing}
        <strong>${percent(row.p, row.pFail)}</strong>
        <small>${said}</small>
        <small>${values || `point ${row.index}`}</small>
      </button>
    </li>`;
  }
}
