// SPDX-License-Identifier: MIT
// <probust-thumbnail>: a small picture of a point with one channel and values from 0 to 1.
import { css, html, LitElement } from 'lit';

class Thumbnail extends LitElement {
  static override properties = { x: { attribute: false }, shape: { attribute: false } };
  static override styles = css`
    :host,
    canvas {
      display: block;
      width: 100%;
      image-rendering: pixelated;
    }
  `;

  declare x: Float32Array;
  declare shape: readonly number[];

  protected override updated(): void {
    const [height, width] = this.shape.slice(-2) as [number, number];
    const canvas = this.renderRoot.querySelector('canvas')!;
    Object.assign(canvas, { width, height });
    const image = new ImageData(width, height);
    for (let i = 0; i < width * height; ++i) image.data.set([...Array<number>(3).fill(255 * this.x[i]!), 255], 4 * i);
    canvas.getContext('2d')!.putImageData(image, 0, 0);
  }

  protected override render() {
    return html`<canvas aria-hidden="true"></canvas>`;
  }
}

if (!customElements.get('probust-thumbnail')) customElements.define('probust-thumbnail', Thumbnail);
