// SPDX-License-Identifier: MIT
// The help card for new users, loaded when it is first opened.
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
      A classifier predicts a class at a point. Real inputs are noisy. The big number is the probability that the prediction
      survives the noise: p = P[argmax f(x + ε) = argmax f(x)].
    </p>
    <ul>
      <li>Drag the point, or move it with the arrow keys; with shift it moves five times as far.</li>
      <li>Sigma is the scale of the noise. Drag the small handles on the ring to stretch and turn it.</li>
      <li>Point at an estimator to see what it uses: straight lines, or the noisy samples that it counts.</li>
      <li>Choose a data set to train a network on it; choose + to add points of your own.</li>
      <li>The page’s address restores everything on screen. Press Share to copy it.</li>
    </ul>
    <p class="muted small">Everything is computed in your browser. No data leave your machine.</p>
    <button class="primary" @click=${close}>Close</button>
  </div>
</dialog>`;
