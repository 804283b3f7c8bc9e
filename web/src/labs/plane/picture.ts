// SPDX-License-Identifier: MIT
// The 2-D lab's picture: regions, noise, and the point, which is moved with mouse, finger or arrow keys.
import { css, html, LitElement, nothing } from 'lit';
import type { Palette } from '../../draw/palette.js';
import { axes, inside, isInside, shapeTo, toData, toPixel, type Pair } from '../../draw/view.js';
import { sharedStyles } from '../../style/shared.js';
import { PictureLayers, type Scene } from './layers.js';

/** Radius around a handle in which it can be grabbed, in pixels. */
const gripReach = 12;

/** Distance of the mark of a point outside the picture from its edge, in pixels. */
const markMargin = 16;

class PlanePicture extends LitElement {
  static override properties = { scene: { attribute: false }, palette: { attribute: false }, size: { state: true } };

  static override styles = [
    sharedStyles,
    css`
      :host {
        display: block;
        position: relative;
        aspect-ratio: 1;
        touch-action: none;
        user-select: none;
        cursor: crosshair;
      }
      canvas {
        position: absolute;
        width: 100%;
        height: 100%;
        border-radius: 8px;
      }
      .handle {
        position: absolute;
        width: 44px;
        height: 44px;
        margin: -22px;
        border-radius: 50%;
        cursor: grab;
      }
      .handle:active {
        cursor: grabbing;
      }
      .handle.outside {
        display: grid;
        place-items: center;
      }
      .outside i {
        width: 22px;
        height: 22px;
        background: var(--ink);
        clip-path: polygon(0 10%, 100% 50%, 0 90%, 25% 50%);
      }
    `,
  ];

  declare scene: Scene | undefined;
  declare palette: Palette | undefined;
  declare size: number;
  readonly #layers = new PictureLayers();
  readonly #observer = new ResizeObserver(([entry]) => (this.size = Math.round(entry!.contentRect.width)));

  constructor() {
    super();
    this.size = 0;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#observer.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#observer.disconnect();
  }

  #move(x: Pair): void {
    this.dispatchEvent(new CustomEvent<Pair>('move', { detail: inside(this.scene!.view, x) }));
  }

  /** The handle that is dragged: the end of the long axis sets size and direction of the noise, that of the short axis the ratio. */
  #grip: 'long' | 'short' | undefined;

  #ends(): { long: Pair; short: Pair } {
    const { noise, at, view } = this.scene!;
    const { long, short } = axes(noise);
    return {
      long: toPixel(view, this.size, at[0] + long[0], at[1] + long[1]),
      short: toPixel(view, this.size, at[0] + short[0], at[1] + short[1]),
    };
  }

  #gripAt(x: number, y: number): 'long' | 'short' | undefined {
    const { long, short } = this.#ends();
    const near = (end: Pair) => Math.hypot(end[0] - x, end[1] - y) < gripReach;
    return this.scene!.rings ? (near(long) ? 'long' : near(short) ? 'short' : undefined) : undefined;
  }

  #reshape(x: number, y: number): void {
    const { view, at, noise } = this.scene!;
    const to = toData(view, this.size, x, y);
    const away: Pair = [to[0] - at[0], to[1] - at[1]];
    this.dispatchEvent(new CustomEvent('shape', { detail: shapeTo(noise, this.#grip!, away) }));
  }

  #drag(event: PointerEvent): void {
    if (!this.scene || (event.type === 'pointermove' && event.buttons === 0)) return;
    if (event.type === 'pointerdown') {
      this.setPointerCapture(event.pointerId);
      this.renderRoot.querySelector<HTMLElement>('.handle')?.focus({ preventScroll: true });
      event.preventDefault();
    }
    const box = this.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    if (event.type === 'pointerdown') this.#grip = this.#gripAt(x, y);
    if (this.#grip) this.#reshape(x, y);
    else this.#move(toData(this.scene.view, box.width, x, y));
  }

  #key(event: KeyboardEvent): void {
    const directions: Record<string, Pair> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const direction = directions[event.key];
    if (!direction || !this.scene) return;
    event.preventDefault();
    const step = (this.scene.view.reach / 75) * (event.shiftKey ? 5 : 1);
    const [x, y] = this.scene.at;
    this.#move([x + direction[0] * step, y + direction[1] * step]);
  }

  protected override firstUpdated(): void {
    for (const type of ['pointerdown', 'pointermove'] as const) this.addEventListener(type, (event) => this.#drag(event));
  }

  protected override updated(): void {
    const canvas = this.renderRoot.querySelector('canvas')!;
    if (this.scene && this.palette && this.size > 0) this.#layers.draw(canvas, this.size, this.scene, this.palette);
  }

  /** Where the handle is, and if the point is outside the picture, its direction in degrees. */
  #place(): { at: Pair; outside: number | undefined } {
    if (!this.scene) return { at: [0, 0], outside: undefined };
    const [x, y] = toPixel(this.scene.view, this.size, ...this.scene.at);
    if (isInside(this.scene.view, this.scene.at)) return { at: [x, y], outside: undefined };
    const near = (value: number) => Math.min(this.size - markMargin, Math.max(markMargin, value));
    const at: Pair = [near(x), near(y)];
    return { at, outside: (Math.atan2(y - at[1], x - at[0]) * 180) / Math.PI };
  }

  protected override render() {
    const { at, outside } = this.#place();
    const mark =
      outside === undefined ? nothing : html`<i title="The point is outside the picture" .style="rotate: ${outside}deg"></i>`;
    return html`<canvas aria-hidden="true"></canvas>
      <div
        class="handle ${outside === undefined ? '' : 'outside'}"
        role="application"
        aria-label=${this.scene?.label ?? 'The point'}
        aria-roledescription="movable point"
        tabindex="0"
        .style="left: ${at[0]}px; top: ${at[1]}px"
        @keydown=${(event: KeyboardEvent) => this.#key(event)}
      >
        ${mark}
      </div>`;
  }
}

if (!customElements.get('probust-plane-picture')) customElements.define('probust-plane-picture', PlanePicture);
