// SPDX-License-Identifier: MIT
// The styles of the help card.
import { css } from 'lit';

export const helpStyles = css`
  dialog {
    max-width: 34rem;
    padding: 0;
    border: 1px solid var(--line);
    border-radius: 12px;
    background: var(--paper);
    color: var(--ink);
  }
  dialog > div {
    padding: 1.25rem 1.5rem;
  }
  dialog::backdrop {
    background: rgb(0 0 0 / 0.45);
  }
  dialog ul {
    padding-left: 1.2rem;
  }
`;
