// SPDX-License-Identifier: MIT
// The styles of all components. Pages override colours and the font with the --probust-... properties, as for the explorer.
import { css } from 'lit';

const dark = css`
  --paper: var(--probust-paper, #14171a);
  --ink: var(--probust-ink, #e9ecef);
  --muted: var(--probust-muted, #a2abb5);
  --line: var(--probust-line, #33393f);
  --soft: var(--probust-soft, #262c31);
  --accent: var(--probust-accent, #56b4e9);
`;

export const theme = css`
  :host {
    --paper: var(--probust-paper, #ffffff);
    --ink: var(--probust-ink, #1b1f24);
    --muted: var(--probust-muted, #5b6470);
    --line: var(--probust-line, #dfe3e8);
    --soft: var(--probust-soft, #eef1f4);
    --accent: var(--probust-accent, #0072b2);
    --font: var(--probust-font, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif);
    display: block;
    container-type: inline-size;
    color: var(--ink);
    background: var(--paper);
    font: 400 1rem/1.45 var(--font);
  }
  :host([hidden]) {
    display: none;
  }
  /* The dark theme is only for screens: prints are on white paper. */
  @media screen and (prefers-color-scheme: dark) {
    :host(:not([theme='light'])) {
      ${dark}
    }
  }
  @media screen {
    :host([theme='dark']) {
      ${dark}
    }
  }
  .state {
    margin: 0;
    padding: 0.75rem 0;
    color: var(--muted);
  }
  .error {
    color: var(--ink);
    border-left: 3px solid #d55e00;
    padding-left: 0.75rem;
  }
  .outdated {
    opacity: 0.5;
  }
  progress {
    display: block;
    width: 100%;
    height: 4px;
    accent-color: var(--accent);
  }
  .muted {
    color: var(--muted);
    font-size: 0.875rem;
  }
  table {
    width: 100%;
    border-collapse: collapse;
    font-size: 0.9375rem;
    font-variant-numeric: tabular-nums;
  }
  th {
    font-weight: 400;
    text-align: left;
    color: var(--muted);
  }
  tbody th {
    color: var(--ink);
    overflow-wrap: anywhere;
  }
  td,
  th {
    padding: 0.3rem 0.5rem 0.3rem 0;
    border-bottom: 1px solid var(--line);
  }
  td.number,
  th.number {
    text-align: right;
    white-space: nowrap;
  }
  td.bar {
    width: 38%;
  }
  .track {
    display: block;
    width: 100%;
    height: 14px;
    overflow: visible;
  }
  .track .all {
    stroke: var(--soft);
    stroke-width: 8;
  }
  .track .interval {
    stroke: var(--accent);
    stroke-width: 3;
  }
  .track .value {
    fill: var(--accent);
  }
  details {
    margin-top: 0.25rem;
    font-size: 0.875rem;
  }
  summary {
    color: var(--muted);
    cursor: pointer;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  @container (max-width: 340px) {
    .wide {
      display: none;
    }
  }
  @media print {
    :host {
      break-inside: avoid;
      background: none;
    }
    details:not([open]) {
      display: none;
    }
  }
`;
