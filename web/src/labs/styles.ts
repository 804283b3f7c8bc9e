// SPDX-License-Identifier: MIT
// Layout and controls of the labs, for wide and narrow screens. Each lab adds its own rules.
import { css } from 'lit';

/** `--columns` are the columns on wide screens: the picture, and the content next to it. */
export const labStyles = css`
  :host {
    display: block;
  }
  .first {
    display: grid;
    gap: 1rem 2.25rem;
    grid-template-columns: var(--columns);
    padding: 0.9rem 0 1.5rem;
  }
  .stage {
    display: grid;
    align-content: start;
  }
  .side {
    padding-top: 0.3rem;
    min-width: 0;
  }
  .panels {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr));
    gap: 1.75rem 2.25rem;
  }
  .controls {
    display: grid;
    grid-template-columns: 1fr 1fr;
  }
  .slider {
    display: block;
    font-size: 0.9375rem;
    min-width: 0;
  }
  .bar,
  .chips {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0.35rem 0.5rem;
  }
  .chip {
    display: inline-flex;
    align-items: center;
    gap: 0.35rem;
    min-height: 28px;
    padding: 0 0.65rem;
    border-radius: 999px;
    font-size: 0.8125rem;
    color: var(--muted);
  }
  .chip[aria-pressed='true'] {
    background: var(--soft);
    border-color: var(--muted);
    color: var(--ink);
  }
  .field {
    display: grid;
    gap: 0.2rem;
    font-size: 0.9375rem;
  }
  @container (max-width: 860px) {
    .first {
      grid-template-columns: minmax(0, 1fr);
      gap: 0.9rem;
    }
    .stage,
    .side {
      display: contents;
    }
    .stage > *,
    .side > * {
      order: 6;
      min-width: 0;
    }
    .stage > .models {
      order: 0;
    }
    .side > [part='number'] {
      order: 2;
    }
    .stage > .sigma {
      order: 3;
    }
  }
  .compact {
    display: none;
  }
  @container (max-width: 480px) {
    .lab {
      display: flex;
      flex-direction: column;
      gap: 0.9rem;
      padding-top: 0.6rem;
    }
    .first {
      display: contents;
    }
    .panels {
      order: 7;
    }
    /* p and sigma stay on screen. */
    .lab:not(.embedded) .sigma {
      order: 8;
      position: sticky;
      bottom: 0;
      z-index: 2;
      display: grid;
      grid-template-columns: auto minmax(0, 1fr);
      align-items: center;
      gap: 0 0.8rem;
      padding: 0.3rem 0;
      border-top: 1px solid var(--line);
      background: var(--paper);
    }
    .lab:not(.embedded) .compact {
      display: block;
      font-size: 1.25rem;
    }
    .sigma .bar {
      grid-column: 1 / -1;
    }
    .controls {
      grid-template-columns: 1fr;
    }
    .words {
      min-height: 0;
    }
  }
`;
