// SPDX-License-Identifier: MIT
// Styles of the value of p.
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
