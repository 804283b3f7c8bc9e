// SPDX-License-Identifier: MIT
// The papers that panels cite.
import { html } from 'lit';

export const averageCase = html`<cite
  >Han, Srinivas and Lakkaraju, Characterizing Data Point Vulnerability via Average-Case Robustness</cite
>`;

export const naturalPerturbations = html`<cite
  >Scher and Trügler, Testing robustness of predictions of trained classifiers against naturally occurring perturbations</cite
>`;
