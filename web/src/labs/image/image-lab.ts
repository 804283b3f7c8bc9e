// SPDX-License-Identifier: MIT
import { css, html } from 'lit';
import { LabElement } from '../../element/lab-element.js';
import { sharedStyles } from '../../element/tokens.js';

export class ImageLab extends LabElement {
  static override styles = [
    sharedStyles,
    css`
      :host {
        display: block;
      }
    `,
  ];

  protected override stateChanged(): void {}

  protected override render() {
    return html`<p>The image lab.</p>`;
  }
}

if (!customElements.get('probust-image-lab')) customElements.define('probust-image-lab', ImageLab);
