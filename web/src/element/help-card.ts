// SPDX-License-Identifier: MIT
// The help card for newcomers, loaded when somebody asks for it.
import { html } from 'lit';

const close = (event: Event): void => (event.target as Element).closest('dialog')!.close();

/** A click outside the card closes it. */
const closeOutside = (event: Event): void => {
  if (event.target instanceof HTMLDialogElement) event.target.close();
};

export const help = html`<dialog aria-labelledby="help-title" @click=${closeOutside}>
  <div>
    <h2 id="help-title">One number</h2>
    <p>
      A classifier answers at a point. Real inputs are noisy. The big number is the probability that the answer survives the
      noise: p = P[argmax f(x + ε) = argmax f(x)].
    </p>
    <ul>
      <li>Drag the point, or move it with the arrow keys; with shift it moves five times as far.</li>
      <li>Sigma is the size of the noise. Pull the small handles on the ring to stretch and turn it.</li>
      <li>Point at an estimator to see what it uses: its straight lines, or the few copies that it counts.</li>
      <li>Choose a data set to train a network on it; choose + to add points of your own.</li>
      <li>The page’s address restores everything on screen. Share copies it.</li>
    </ul>
    <p class="muted small">Everything is computed in your browser. Nothing leaves your machine.</p>
    <button class="primary" @click=${close}>Close</button>
  </div>
</dialog>`;
