// SPDX-License-Identifier: MIT
// The drawing area, which is used with mouse, finger or arrow keys.
import { css, html, LitElement, nothing } from 'lit';
import { sharedStyles } from '../../style/shared.js';
import { stroked, toImageData, type Picture, type Point } from './picture.js';

class DrawingPaper extends LitElement {
  static override properties = {
    picture: { attribute: false },
    erase: { type: Boolean },
    label: { type: String },
    pen: { state: true },
    down: { state: true },
  };

  static override styles = [
    sharedStyles,
    css`
      :host {
        display: block;
        position: relative;
        touch-action: none;
        user-select: none;
        cursor: crosshair;
      }
      .sheet {
        position: relative;
        border-radius: 8px;
        overflow: hidden;
        line-height: 0;
        background: #000;
      }
      canvas {
        width: 100%;
        image-rendering: pixelated;
      }
      .pen {
        position: absolute;
        width: 22px;
        height: 22px;
        margin: -11px;
        border: 2px solid #fff;
        outline: 2px solid #000;
        border-radius: 50%;
        pointer-events: none;
      }
      .pen.down {
        background: #d55e00;
      }
    `,
  ];

  declare picture: Picture | undefined;
  declare erase: boolean;
  declare label: string;
  /** Position of the keyboard's pen; undefined while it is not in use. */
  declare pen: Point | undefined;
  declare down: boolean;
  #last: Point | undefined;

  constructor() {
    super();
    this.erase = this.down = false;
    this.label = '';
  }

  #draw(from: Point, to: Point, erase: boolean): void {
    this.picture = stroked(this.picture!, from, to, erase);
    this.dispatchEvent(new CustomEvent<Picture>('draw', { detail: this.picture }));
  }

  #at(event: PointerEvent): Point {
    const box = this.renderRoot.querySelector('canvas')!.getBoundingClientRect();
    const { width, height } = this.picture!;
    return [((event.clientX - box.left) / box.width) * width, ((event.clientY - box.top) / box.height) * height];
  }

  #pointer(event: PointerEvent): void {
    if (!this.picture) return;
    const at = this.#at(event);
    if (event.type === 'pointerdown') {
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
      this.pen = undefined;
      this.#last = at;
    }
    if (!this.#last || event.buttons === 0) return;
    // The eraser end of a stylus and the secondary mouse button erase.
    this.#draw(this.#last, at, this.erase || (event.buttons & (2 | 32)) !== 0);
    this.#last = at;
  }

  /** The arrow keys move the pen; space puts it down or lifts it. */
  #key(event: KeyboardEvent): void {
    if (!this.picture) return;
    const directions: Record<string, Point> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const { width, height } = this.picture;
    const from = this.pen ?? [width / 2, height / 2];
    const direction = directions[event.key];
    if (event.key === 'Escape') this.pen = undefined;
    if (!direction && event.key !== ' ') return;
    event.preventDefault();
    if (!direction) this.down = !this.down;
    const step = Math.max(1, width / 28) * (event.shiftKey ? 3 : 1);
    const [dx, dy] = direction ?? [0, 0];
    this.pen = [Math.min(width, Math.max(0, from[0] + dx * step)), Math.min(height, Math.max(0, from[1] + dy * step))];
    if (this.down) this.#draw(from, this.pen, this.erase);
  }

  protected override updated(): void {
    const canvas = this.renderRoot.querySelector('canvas')!;
    if (!this.picture) return;
    const { width, height } = this.picture;
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    canvas.getContext('2d')!.putImageData(toImageData(this.picture), 0, 0);
  }

  protected override render() {
    const { pen, picture } = this;
    return html`<div
      class="sheet"
      role="application"
      aria-roledescription="drawing"
      aria-label=${this.label}
      tabindex="0"
      @pointerdown=${this.#pointer}
      @pointermove=${this.#pointer}
      @pointerup=${() => (this.#last = undefined)}
      @contextmenu=${(event: Event) => event.preventDefault()}
      @keydown=${this.#key}
      @blur=${() => ((this.pen = undefined), (this.down = false))}
    >
      <canvas width="28" height="28" aria-hidden="true"></canvas>
      ${
        pen && picture
          ? html`<i
              class="pen ${this.down ? 'down' : ''}"
              .style="left: ${(100 * pen[0]) / picture.width}%; top: ${(100 * pen[1]) / picture.height}%"
            ></i>`
          : nothing
      }
    </div>`;
  }
}

if (!customElements.get('probust-paper')) customElements.define('probust-paper', DrawingPaper);
