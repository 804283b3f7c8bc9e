// SPDX-License-Identifier: MIT
import { css } from 'lit';

export const datasetStyles = css`
  .lab {
    --columns: minmax(0, 34rem) minmax(0, 1fr);
  }
  probust-scatter {
    max-width: 34rem;
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
    display: flex;
    align-items: center;
    gap: 0.75rem;
  }
  .working progress {
    flex: 1;
    accent-color: var(--accent);
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
    grid-template-columns: repeat(auto-fill, minmax(5rem, 1fr));
    gap: 0.75rem;
    margin: 0.75rem 0;
    padding: 0;
    list-style: none;
  }
  .thumbnails li > * {
    display: block;
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
  @media (max-width: 800px) {
    .first {
      display: grid;
      grid-template-columns: minmax(0, 1fr);
    }
  }
`;
