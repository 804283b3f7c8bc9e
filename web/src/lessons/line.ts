// SPDX-License-Identifier: MIT
// <probust-lesson-line>: a line over the picture, whose two ends are moved with the pointer or the arrow keys.
import { css, html, LitElement, svg } from 'lit';
import { inside, toData, toPixel, type Pair } from '../draw/view.js';
import { view } from '../labs/plane/models.js';
import { themeStyles } from '../style/theme.js';

export type Ends = [Pair, Pair];

/** The initial ends of the line. */
export const firstLine: Ends = [
  [-1.2, -1.2],
  [1.2, -1.2],
];

const size = 100;
const reach = 10; // how far the line extends beyond its ends

export class LessonLine extends LitElement {
  static override properties = { ends: { attribute: false } };
  static override styles = [
    themeStyles,
    css`
      :host {
        position: absolute;
        pointer-events: none;
        background: none;
      }
      svg {
        position: absolute;
        inset: 0;
        width: 100%;
        height: 100%;
        overflow: hidden;
      }
      line {
        stroke: var(--ink);
        stroke-width: 3;
        vector-effect: non-scaling-stroke;
      }
      .end {
        position: absolute;
        width: 26px;
        height: 26px;
        margin: -13px;
        border: 3px solid var(--ink);
        border-radius: 50%;
        background: var(--paper);
        box-sizing: border-box;
        pointer-events: auto;
        touch-action: none;
        cursor: grab;
      }
      .end:focus-visible {
        outline: 3px solid var(--accent);
        outline-offset: 2px;
      }
    `,
  ];

  declare ends: Ends;

  constructor() {
    super();
    this.ends = firstLine;
  }

  #move(which: 0 | 1, to: Pair): void {
    const ends: Ends = [...this.ends];
    ends[which] = inside(view, to);
    this.dispatchEvent(new CustomEvent<Ends>('line', { detail: ends }));
  }

  #drag(which: 0 | 1, event: PointerEvent): void {
    if (event.buttons === 0) return;
    const box = this.getBoundingClientRect();
    this.#move(which, toData(view, box.width, event.clientX - box.left, event.clientY - box.top));
  }

  #key(which: 0 | 1, event: KeyboardEvent): void {
    const directions: Record<string, Pair> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const direction = directions[event.key];
    if (!direction) return;
    event.preventDefault();
    const step = event.shiftKey ? 0.2 : 0.04;
    const [x, y] = this.ends[which];
    this.#move(which, [x + step * direction[0], y + step * direction[1]]);
    (event.target as Element).scrollIntoView({ block: 'nearest' });
  }

  protected override render() {
    const [a, b] = this.ends.map(([x, y]) => toPixel(view, size, x, y)) as Ends;
    const beyond = (from: Pair, to: Pair): Pair => [to[0] + reach * (to[0] - from[0]), to[1] + reach * (to[1] - from[1])];
    const [[x1, y1], [x2, y2]] = [beyond(b, a), beyond(a, b)];
    return html`<svg viewBox="0 0 ${size} ${size}" aria-hidden="true">
        ${svg`<line x1=${x1} y1=${y1} x2=${x2} y2=${y2}></line>`}
      </svg>
      ${([0, 1] as const).map((which) => {
        const [x, y] = [a, b][which]!;
        return html`<div
          class="end"
          role="application"
          tabindex="0"
          aria-roledescription="end of a line"
          aria-label="End ${which + 1} of the line, at ${this.ends[which].map((each) => each.toFixed(2)).join(', ')}"
          .style="left: ${x}%; top: ${y}%"
          @pointerdown=${(event: PointerEvent) => (event.target as Element).setPointerCapture(event.pointerId)}
          @pointermove=${(event: PointerEvent) => this.#drag(which, event)}
          @keydown=${(event: KeyboardEvent) => this.#key(which, event)}
        ></div>`;
      })}`;
  }
}

if (!customElements.get('probust-lesson-line')) customElements.define('probust-lesson-line', LessonLine);
