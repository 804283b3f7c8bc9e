// SPDX-License-Identifier: MIT
// The 2-D lab's picture: regions, noise, and the point, which is moved with mouse, finger or arrow keys.
import { css, html, LitElement, nothing, type PropertyValues } from 'lit';
import type { Palette } from '../../draw/palette.js';
import { axes, inside, isInside, shapeTo, toData, toPixel, type Pair } from '../../draw/view.js';
import { sharedStyles } from '../../style/shared.js';
import { PictureLayers, type Scene } from './layers.js';

/** Distance from the picture's edge to the mark for a point outside the picture, in pixels. */
const markMargin = 16;

class PlanePicture extends LitElement {
  static override properties = {
    scene: { attribute: false },
    palette: { attribute: false },
    size: { state: true },
    rem: { state: true },
  };

  static override styles = [
    sharedStyles,
    css`
      :host {
        display: block;
        position: relative;
        aspect-ratio: 1;
        user-select: none;
        cursor: crosshair;
      }
      canvas {
        position: absolute;
        width: 100%;
        height: 100%;
        border-radius: 8px;
      }
      /* Only these elements respond to touch: a swipe elsewhere scrolls the page. */
      .handle,
      .grip {
        position: absolute;
        width: 44px;
        height: 44px;
        margin: -22px;
        border-radius: 50%;
        cursor: grab;
        touch-action: none;
      }
      .grip {
        width: 24px;
        height: 24px;
        margin: -12px;
        z-index: 1;
      }
      @media (pointer: coarse) {
        .grip {
          width: 36px;
          height: 36px;
          margin: -18px;
        }
      }
      .handle:active {
        cursor: grabbing;
      }
      .handle.outside {
        display: grid;
        place-items: center;
      }
      .rem {
        position: absolute;
        width: 1rem;
        visibility: hidden;
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
  /** The size of 1rem in pixels. Text and marks grow with the page's text, as for a projector. */
  declare rem: number;
  readonly #layers = new PictureLayers();
  /** Observes the size, because reading computed styles would force a layout in every frame of a drag. */
  readonly #observer = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      if (target === this) this.size = Math.round(contentRect.width);
      else this.rem = contentRect.width;
    }
  });

  constructor() {
    super();
    this.size = this.rem = 0;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#observer.observe(this);
    if (this.hasUpdated) this.#observeRem();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#observer.disconnect();
  }

  #observeRem(): void {
    this.#observer.observe(this.renderRoot.querySelector('.rem')!);
  }

  #move(x: Pair): void {
    this.#asked = inside(this.scene!.view, x);
    this.dispatchEvent(new CustomEvent<Pair>('move', { detail: this.#asked }));
  }

  /**
   * The dragged handle. The end of the long axis sets the size and direction of the noise; the end of the short axis sets the
   * ratio of the axes.
   */
  #grip: 'long' | 'short' | undefined;

  #ends(): { long: Pair; short: Pair } {
    const { noise, at, view } = this.scene!;
    const { long, short } = axes(noise);
    return {
      long: toPixel(view, this.size, at[0] + long[0], at[1] + long[1]),
      short: toPixel(view, this.size, at[0] + short[0], at[1] + short[1]),
    };
  }

  #reshape(x: number, y: number): void {
    const { view, at, noise } = this.scene!;
    const to = toData(view, this.size, x, y);
    const away: Pair = [to[0] - at[0], to[1] - at[1]];
    this.dispatchEvent(new CustomEvent('shape', { detail: shapeTo(noise, this.#grip!, away) }));
  }

  /** Position in the picture, in pixels. */
  #at({ clientX, clientY }: MouseEvent): Pair {
    const box = this.getBoundingClientRect();
    return [clientX - box.left, clientY - box.top];
  }

  /** The position to which the point was moved since the last scene. */
  #asked: Pair | undefined;

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('scene')) this.#asked = undefined;
  }

  /** Whether the current press drags the point or a handle. A finger elsewhere on the picture does not. */
  #held = false;

  #press(event: PointerEvent): void {
    const on = event.composedPath()[0] as HTMLElement;
    this.#held = event.pointerType !== 'touch' || on.matches('.handle, .handle i, .grip');
    if (!this.scene || !this.#held) return;
    this.setPointerCapture(event.pointerId);
    this.renderRoot.querySelector<HTMLElement>('.handle')?.focus({ preventScroll: true });
    event.preventDefault();
    this.#grip = on.dataset.end as 'long' | 'short' | undefined;
    this.#drag(event);
  }

  #drag(event: PointerEvent): void {
    if (!this.scene || event.buttons === 0 || (event.pointerType === 'touch' && !this.#held)) return;
    const at = this.#at(event);
    if (this.#grip) this.#reshape(...at);
    else this.#move(toData(this.scene.view, this.size, ...at));
  }

  /** A finger that does not swipe moves the point, too. */
  #tap(event: MouseEvent): void {
    if (!this.scene || this.#held) return;
    this.#grip = undefined;
    this.#move(toData(this.scene.view, this.size, ...this.#at(event)));
  }

  #key(event: KeyboardEvent): void {
    const directions: Record<string, Pair> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const direction = directions[event.key];
    if (!direction || !this.scene) return;
    event.preventDefault();
    const step = (this.scene.view.reach / 75) * (event.shiftKey ? 5 : 1);
    // Several key presses may come before the next scene.
    const [x, y] = this.#asked ?? this.scene.at;
    this.#move([x + direction[0] * step, y + direction[1] * step]);
  }

  protected override firstUpdated(): void {
    this.#observeRem();
    this.addEventListener('pointerdown', (event) => this.#press(event));
    this.addEventListener('pointermove', (event) => this.#drag(event));
    this.addEventListener('click', (event) => this.#tap(event));
  }

  protected override updated(): void {
    const canvas = this.renderRoot.querySelector('canvas')!;
    const look = { side: this.size, zoom: this.rem / 16 };
    if (this.scene && this.palette && look.side > 0 && look.zoom > 0) this.#layers.draw(canvas, look, this.scene, this.palette);
  }

  #grips() {
    if (!this.scene?.rings || this.scene.noise.noise !== 'gaussian') return nothing;
    const visible = Object.entries(this.#ends()).filter(([, at]) => Math.min(...at) >= 0 && Math.max(...at) <= this.size);
    return visible.map(([end, [x, y]]) => html`<div class="grip" data-end=${end} .style="left: ${x}px; top: ${y}px"></div>`);
  }

  /** The position of the point's handle. If the point is outside the picture, also the direction of the point, in degrees. */
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
    return html`<canvas aria-hidden="true"></canvas><i class="rem" aria-hidden="true"></i>
      ${this.#grips()}
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
