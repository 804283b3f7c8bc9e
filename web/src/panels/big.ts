// SPDX-License-Identifier: MIT
// The look of the one number that a lab is about.
import { css } from 'lit';

export const bigStyles = css`
  .big {
    font-size: clamp(3rem, 7cqi, 4.5rem);
    font-weight: 700;
    line-height: 1.05;
    letter-spacing: -0.02em;
    white-space: nowrap;
  }
  .lead {
    font-size: 1.125rem;
    margin-bottom: 0.1rem;
  }
`;
