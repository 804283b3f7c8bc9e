// SPDX-License-Identifier: MIT
import { css } from 'lit';

export const datasetStyles = css`
  .lab {
    --columns: minmax(0, 34rem) minmax(0, 1fr);
  }
  probust-scatter {
    max-width: 34rem;
  }
  @container (min-width: 481px) {
    .sigma {
      margin-top: 0.6rem;
    }
  }
  .key .line {
    width: 1.25rem;
    height: 3px;
  }
  button.key {
    border: 1px solid transparent;
    color: var(--ink);
    min-height: 28px;
  }
  button.key[aria-pressed='true'] {
    border-color: var(--line);
    background: var(--soft);
  }
  .working {
    grid-column: 1 / -1;
    display: flex;
    align-items: center;
    gap: 0.75rem;
  }
  .working progress {
    flex: 1;
    accent-color: var(--accent);
  }
  .warning {
    padding-left: 0.6rem;
    border-left: 4px solid var(--warm);
    overflow-wrap: anywhere;
  }
  .file {
    padding: 0.2rem 0.7rem;
    border: 1px solid var(--line);
    border-radius: 999px;
    cursor: pointer;
  }
  .file:focus-within {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  .thumbnails {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(6.25rem, 1fr));
    gap: 0.5rem;
    margin: 0.75rem 0;
    padding: 0;
    list-style: none;
  }
  .card {
    width: 100%;
    padding: 0.25rem;
    border-color: transparent;
    border-radius: 4px;
    text-align: left;
    overflow-wrap: anywhere;
  }
  .card > :not(.visually-hidden) {
    display: block;
  }
  .card b {
    font-size: 0.875rem;
    white-space: nowrap;
  }
  .card[aria-pressed='true'] {
    border-color: var(--ink);
    background: var(--soft);
    color: var(--ink);
  }
  .plot {
    scroll-margin: 0.5rem;
  }
  .chosen {
    display: flex;
    gap: 0.75rem;
    margin: 0.25rem 0 0.5rem;
  }
  .chosen .picture {
    flex: 0 0 5rem;
  }
  .fragile {
    width: 100%;
    margin-bottom: 0.5rem;
    border-collapse: collapse;
    font-size: 0.9375rem;
  }
  .fragile th,
  .fragile td {
    padding: 0.3rem 0 0.3rem 0.5rem;
    border-bottom: 1px solid var(--line);
    text-align: right;
    font-weight: 400;
  }
  .fragile th:first-child {
    padding-left: 0;
    text-align: left;
  }
  .fragile .wide {
    width: 38%;
    text-align: left;
  }
  .fragile thead th {
    color: var(--muted);
  }
  .track {
    display: block;
    width: 100%;
    height: 14px;
    overflow: visible;
  }
  .track .all {
    stroke: var(--line);
    stroke-width: 8;
  }
  .track .interval {
    stroke: var(--accent);
    stroke-width: 3;
  }
  .track .mean {
    fill: var(--accent);
  }
  /* The plot's caption says how p was computed. */
  probust-number::part(how) {
    display: none;
  }
  .wrong {
    font-weight: 600;
  }
  .panel {
    padding-top: 1.1rem;
    border-top: 1px solid var(--line);
    min-width: 0;
  }
  .source {
    font-size: 0.8125rem;
    color: var(--muted);
  }
  button.quiet {
    border: 0;
    background: none;
    color: var(--muted);
    text-decoration: underline;
  }
  @container (max-width: 860px) {
    .side.stale > * {
      opacity: 0.5;
    }
  }
  @container (max-width: 480px) {
    .plot,
    .reply {
      scroll-margin-bottom: 7rem;
    }
  }
`;
