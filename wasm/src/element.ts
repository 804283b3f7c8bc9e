// SPDX-License-Identifier: MIT
// `probust/element`: components that show p_robust, for any page or framework. Importing the module defines them.
import { ProbustBias } from './elements/bias.js';
import { ProbustCurve } from './elements/curve.js';
import { ProbustEstimators } from './elements/estimators.js';
import { ProbustGallery } from './elements/gallery.js';
import { ProbustNumber } from './elements/number.js';
import type { ProbustComponent, Reading, RowsDetail } from './elements/public.js';
import type { Progress, Row } from './types.js';

const components = {
  'probust-number': ProbustNumber,
  'probust-curve': ProbustCurve,
  'probust-estimators': ProbustEstimators,
  'probust-bias': ProbustBias,
  'probust-gallery': ProbustGallery,
};
for (const [name, component] of Object.entries(components)) {
  if (!customElements.get(name)) customElements.define(name, component);
}

declare global {
  interface HTMLElementTagNameMap {
    'probust-number': HTMLElement & ProbustComponent;
    'probust-curve': HTMLElement & ProbustComponent;
    'probust-estimators': HTMLElement & ProbustComponent;
    'probust-bias': HTMLElement & ProbustComponent;
    'probust-gallery': HTMLElement & ProbustComponent & { count: number };
  }
  interface HTMLElementEventMap {
    /** Dispatched when new rows are displayed. */
    'probust-rows': CustomEvent<RowsDetail>;
    'probust-progress': CustomEvent<Progress>;
    'probust-error': CustomEvent<{ error: unknown }>;
    /** Dispatched when a scale is chosen in a curve, or a point in a gallery. */
    'probust-select': CustomEvent<Reading | { row: Row }>;
  }
}

export type { KnownPoints, Points, ProbustComponent, Reading, RowsDetail } from './elements/public.js';
