// SPDX-License-Identifier: MIT
import { css } from 'lit';

/** Styles that every shadow root must repeat: text, controls, focus. */
export const sharedStyles = css`
  :host,
  * {
    box-sizing: border-box;
  }
  :host {
    font: 1rem/1.45 var(--font);
    font-variant-numeric: tabular-nums;
    color: var(--ink);
  }
  h2 {
    margin: 0 0 0.25rem;
    font-size: 1rem;
    font-weight: 650;
  }
  p {
    margin: 0 0 0.5rem;
  }
  .muted {
    color: var(--muted);
  }
  .small {
    font-size: 0.875rem;
  }
  button,
  select,
  input[type='text'],
  input[type='number'] {
    font: inherit;
    font-size: 0.9375rem;
    color: inherit;
    background: var(--paper);
    border: 1px solid var(--line);
    border-radius: 6px;
    padding: 0.3rem 0.7rem;
    min-height: 2.25rem;
  }
  button {
    cursor: pointer;
  }
  button:hover {
    border-color: var(--muted);
  }
  button[aria-pressed='true'],
  button.primary {
    background: var(--accent);
    border-color: var(--accent);
    color: var(--on-accent);
  }
  button:disabled {
    opacity: 0.5;
    cursor: default;
  }
  input[type='range'] {
    accent-color: var(--accent);
    width: 100%;
    min-height: 1.75rem;
    margin: 0;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  a {
    color: var(--accent);
  }
  .visually-hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`;
