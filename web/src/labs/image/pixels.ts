// SPDX-License-Identifier: MIT
// A small picture, scaled up without smoothing.
import { css, html, LitElement } from 'lit';

class Pixels extends LitElement {
  static override properties = { image: { attribute: false } };
  static override styles = css`
    :host {
      display: block;
      line-height: 0;
    }
    canvas {
      width: 100%;
      height: auto;
      image-rendering: pixelated;
      border-radius: inherit;
    }
  `;

  declare image: ImageData | undefined;

  protected override updated(): void {
    const canvas = this.renderRoot.querySelector('canvas')!;
    if (!this.image) return;
    const { width, height } = this.image;
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    canvas.getContext('2d')!.putImageData(this.image, 0, 0);
  }

  protected override render() {
    return html`<canvas aria-hidden="true"></canvas>`;
  }
}

if (!customElements.get('probust-pixels')) customElements.define('probust-pixels', Pixels);
