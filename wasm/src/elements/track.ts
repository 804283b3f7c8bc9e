// SPDX-License-Identifier: MIT
// A probability and its interval on a line from 0 to 1. Geometry is set by attributes, which every content security policy
// allows.
import { nothing, svg } from 'lit';

const width = 100;

export const track = (p: number | null, low: number | null, high: number | null) => svg`
  <svg class="track" viewBox="0 0 ${width} 14" preserveAspectRatio="none" aria-hidden="true">
    <line class="all" x1="0" x2=${width} y1="7" y2="7"></line>
    ${low === null || high === null ? nothing : svg`<line class="interval" x1=${width * low} x2=${width * high} y1="7" y2="7"></line>`}
    ${p === null ? nothing : svg`<rect class="value" x=${width * p - 0.75} y="1" width="1.5" height="12"></rect>`}
  </svg>`;
