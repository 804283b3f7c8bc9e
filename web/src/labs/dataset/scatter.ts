// SPDX-License-Identifier: MIT
// <probust-scatter>: p against softmax, one dot for each point, and a rectangle that selects some of them. Its corners are moved
// with the pointer or the arrow keys; mouse and pen can draw a new one. Touching the plot scrolls the page, except on a corner.
import { css, html, LitElement } from 'lit';
import { css as colour, type Palette } from '../../draw/palette.js';
import type { Item } from './session.js';

/** The selected ranges: the lower and upper end for p, then for softmax. */
export type Brush = readonly [number, number, number, number];

const margin = { left: 44, right: 10, top: 8, bottom: 38 };
const dotRadius = 3.5;
const ringRadius = 8;
/** Pressing within this many pixels of a dot chooses it. */
const reach = 14;
/** A shorter movement is a press and does not draw a rectangle. */
const leastDrawn = 0.01;

export const isSelected = ({ row, softmax }: Item, [pLow, pHigh, sLow, sHigh]: Brush): boolean =>
  row.p !== null && row.p >= pLow && row.p <= pHigh && (softmax ?? 1) >= sLow && (softmax ?? 1) <= sHigh;

type Corner = 'low' | 'high';

export class Scatter extends LitElement {
  static override properties = {
    items: { attribute: false },
    brush: { attribute: false },
    palette: { attribute: false },
    chosen: { attribute: false },
    side: { state: true },
  };
  static override styles = css`
    :host {
      display: block;
      position: relative;
      aspect-ratio: 1;
    }
    canvas {
      position: absolute;
      inset: 0;
      width: 100%;
      height: 100%;
      cursor: crosshair;
    }
    .corner {
      position: absolute;
      width: 20px;
      height: 20px;
      margin: -10px;
      border: 2px solid var(--ink);
      border-radius: 50%;
      background: var(--paper);
      box-sizing: border-box;
      touch-action: none;
      cursor: move;
    }
    /* A larger target for fingers. */
    .corner::after {
      content: '';
      position: absolute;
      inset: -12px;
    }
    @media (pointer: fine) {
      .corner::after {
        inset: 0;
      }
    }
    .corner:focus-visible {
      outline: 3px solid var(--accent);
      outline-offset: 2px;
    }
  `;

  declare items: readonly Item[];
  declare brush: Brush;
  declare palette: Palette;
  /** The index of the ringed row. */
  declare chosen: number | undefined;
  declare side: number;
  #from: [number, number] | undefined;
  #drawn = false;
  readonly #observer = new ResizeObserver(([entry]) => (this.side = Math.round(entry!.contentRect.width)));

  constructor() {
    super();
    this.items = [];
    this.brush = [0, 1, 0, 1];
    this.side = 0;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#observer.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#observer.disconnect();
  }

  /** The position of the dot for these values, in pixels. */
  #at(softmax: number, p: number): [number, number] {
    const width = this.side - margin.left - margin.right;
    const height = this.side - margin.top - margin.bottom;
    return [margin.left + softmax * width, margin.top + (1 - p) * height];
  }

  #values({ clientX, clientY }: PointerEvent): [number, number] {
    const box = this.getBoundingClientRect();
    const within = (value: number) => Number(Math.min(1, Math.max(0, value)).toFixed(3));
    const softmax = (clientX - box.left - margin.left) / (this.side - margin.left - margin.right);
    return [within(softmax), within(1 - (clientY - box.top - margin.top) / (this.side - margin.top - margin.bottom))];
  }

  #select(brush: Brush): void {
    this.dispatchEvent(new CustomEvent<Brush>('brush', { detail: brush }));
  }

  /** When a pen approaches, prevents scrolling, so that the pen can draw. */
  #hover({ type, pointerType, target }: PointerEvent): void {
    (target as HTMLElement).style.touchAction = type === 'pointerenter' && pointerType === 'pen' ? 'none' : '';
  }

  #press(event: PointerEvent): void {
    this.#drawn = false;
    if (event.pointerType === 'touch') return;
    (event.target as Element).setPointerCapture(event.pointerId);
    this.#from = this.#values(event);
    event.preventDefault();
  }

  #drag(event: PointerEvent): void {
    if (!this.#from || event.buttons === 0) return;
    const [s0, p0] = this.#from;
    const [s1, p1] = this.#values(event);
    this.#drawn ||= Math.hypot(s1 - s0, p1 - p0) > leastDrawn;
    if (this.#drawn) this.#select([Math.min(p0, p1), Math.max(p0, p1), Math.min(s0, s1), Math.max(s0, s1)]);
  }

  /** Chooses the nearest dot. */
  #click({ clientX, clientY }: MouseEvent): void {
    if (this.#drawn) return;
    const box = this.getBoundingClientRect();
    const away = ({ row, softmax }: Item) => {
      const [x, y] = this.#at(softmax ?? 1, row.p!);
      return Math.hypot(x - (clientX - box.left), y - (clientY - box.top));
    };
    const near = this.items.filter((item) => item.row.p !== null && away(item) <= reach);
    const nearest = near.sort((a, b) => away(a) - away(b))[0];
    if (nearest) this.dispatchEvent(new CustomEvent<number>('choose', { detail: nearest.row.index }));
  }

  #dragCorner(corner: Corner, event: PointerEvent): void {
    if (event.buttons === 0) return;
    const [softmax, p] = this.#values(event);
    this.#moveCorner(corner, softmax, p);
  }

  #moveCorner(corner: Corner, softmax: number, p: number): void {
    const [pLow, pHigh, sLow, sHigh] = this.brush;
    if (corner === 'low') this.#select([Math.min(p, pHigh), pHigh, Math.min(softmax, sHigh), sHigh]);
    else this.#select([pLow, Math.max(p, pLow), sLow, Math.max(softmax, sLow)]);
  }

  #key(corner: Corner, event: KeyboardEvent): void {
    const directions: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, 1],
      ArrowDown: [0, -1],
    };
    const direction = directions[event.key];
    if (!direction || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const step = event.shiftKey ? 0.1 : 0.02;
    const within = (value: number) => Number(Math.min(1, Math.max(0, value)).toFixed(3));
    const [pLow, pHigh, sLow, sHigh] = this.brush;
    const [softmax, p] = corner === 'low' ? [sLow, pLow] : [sHigh, pHigh];
    this.#moveCorner(corner, within(softmax + step * direction[0]), within(p + step * direction[1]));
  }

  protected override updated(): void {
    const canvas = this.renderRoot.querySelector('canvas')!;
    if (this.side > 0 && this.palette) this.#draw(canvas);
  }

  #draw(canvas: HTMLCanvasElement): void {
    const density = Math.min(devicePixelRatio || 1, 2);
    canvas.width = canvas.height = Math.round(this.side * density);
    const ctx = canvas.getContext('2d')!;
    ctx.scale(density, density);
    this.#axes(ctx);
    const { palette, brush } = this;
    for (const item of this.items) {
      if (item.row.p === null) continue;
      const wrong = item.row.label !== null && item.row.label !== item.row.predicted;
      const selected = isSelected(item, brush);
      ctx.beginPath();
      ctx.arc(...this.#at(item.softmax ?? 1, item.row.p), dotRadius, 0, 2 * Math.PI);
      ctx.fillStyle = colour(selected ? palette.accent : palette.muted, wrong ? 0 : selected ? 0.75 : 0.25);
      ctx.fill();
      if (wrong) {
        ctx.strokeStyle = colour(selected ? palette.ink : palette.muted, selected ? 1 : 0.6);
        ctx.stroke();
      }
    }
    const [pLow, pHigh, sLow, sHigh] = brush;
    const [left, top] = this.#at(sLow, pHigh);
    const [right, bottom] = this.#at(sHigh, pLow);
    ctx.fillStyle = colour(palette.accent, 0.08);
    ctx.fillRect(left, top, right - left, bottom - top);
    ctx.strokeStyle = colour(palette.accent);
    ctx.strokeRect(left, top, right - left, bottom - top);
    this.#drawRing(ctx);
  }

  /** Draws a ring around the chosen dot. */
  #drawRing(ctx: CanvasRenderingContext2D): void {
    const item = this.items.find(({ row }) => row.index === this.chosen);
    if (!item || item.row.p === null) return;
    ctx.beginPath();
    ctx.arc(...this.#at(item.softmax ?? 1, item.row.p), ringRadius, 0, 2 * Math.PI);
    ctx.strokeStyle = colour(this.palette.ink);
    ctx.lineWidth = 2.5;
    ctx.stroke();
  }

  #axes(ctx: CanvasRenderingContext2D): void {
    const { palette, side } = this;
    ctx.font = '12px system-ui, sans-serif';
    ctx.fillStyle = colour(palette.muted);
    ctx.strokeStyle = colour(palette.muted, 0.25);
    for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
      const [x, y] = this.#at(tick, tick);
      ctx.textAlign = 'right';
      ctx.fillText(`${100 * tick}%`, margin.left - 5, y + 4);
      ctx.textAlign = tick === 1 ? 'right' : tick === 0 ? 'left' : 'center';
      ctx.fillText(`${100 * tick}%`, x, side - margin.bottom + 15);
      ctx.beginPath();
      ctx.moveTo(margin.left, y);
      ctx.lineTo(side - margin.right, y);
      ctx.stroke();
    }
    ctx.fillStyle = colour(palette.ink);
    ctx.textAlign = 'center';
    ctx.fillText('softmax, the network’s own confidence', margin.left + (side - margin.left - margin.right) / 2, side - 6);
    ctx.textAlign = 'left';
    ctx.fillText('p', 2, margin.top + 28);
  }

  #corner(corner: Corner) {
    const [pLow, pHigh, sLow, sHigh] = this.brush;
    const [softmax, p] = corner === 'low' ? [sLow, pLow] : [sHigh, pHigh];
    const [x, y] = this.#at(softmax, p);
    const place = corner === 'low' ? 'Lower left' : 'Upper right';
    return html`<div
      class="corner"
      role="application"
      tabindex="0"
      aria-roledescription="movable corner"
      aria-label="${place} corner of the selection: p ${(100 * p).toFixed(0)}%, softmax ${(100 * softmax).toFixed(0)}%"
      .style="left: ${x}px; top: ${y}px"
      @pointerdown=${(event: PointerEvent) => (event.target as Element).setPointerCapture(event.pointerId)}
      @pointermove=${(event: PointerEvent) => this.#dragCorner(corner, event)}
      @keydown=${(event: KeyboardEvent) => this.#key(corner, event)}
    ></div>`;
  }

  protected override render() {
    return html`<canvas
        role="img"
        aria-label="p against softmax, ${this.items.length} points"
        @pointerenter=${(event: PointerEvent) => this.#hover(event)}
        @pointerleave=${(event: PointerEvent) => this.#hover(event)}
        @pointerdown=${(event: PointerEvent) => this.#press(event)}
        @pointermove=${(event: PointerEvent) => this.#drag(event)}
        @pointerup=${() => (this.#from = undefined)}
        @click=${(event: MouseEvent) => this.#click(event)}
      ></canvas>
      ${this.#corner('low')} ${this.#corner('high')}`;
  }
}

if (!customElements.get('probust-scatter')) customElements.define('probust-scatter', Scatter);
