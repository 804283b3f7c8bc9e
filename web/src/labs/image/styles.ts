// SPDX-License-Identifier: MIT
// Layout for wide and narrow screens.
import { css } from 'lit';

export const layoutStyles = css`
  :host {
    display: block;
    position: relative;
  }
  .lab.over {
    outline: 3px dashed var(--accent);
    outline-offset: 6px;
    border-radius: 8px;
  }
  .first {
    display: grid;
    gap: 1rem 2.25rem;
    grid-template-columns: minmax(0, 640px) minmax(0, 1fr);
    padding: 0.9rem 0 1.5rem;
  }
  .stage {
    display: grid;
    gap: 0.8rem;
    align-content: start;
  }
  .pair {
    display: grid;
    grid-template-columns: 1fr 1fr;
    gap: 1rem;
    align-items: start;
  }
  .side {
    padding-top: 0.3rem;
    min-width: 0;
  }
  .message {
    margin: 0;
    padding: 0.6rem 0.8rem;
    border-left: 4px solid var(--warm);
    border-radius: 4px;
    background: var(--soft);
    overflow-wrap: anywhere;
  }
  .engine {
    margin: 0 0 0.5rem;
  }
  .panels {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr));
    gap: 1.75rem 2.25rem;
  }
  .controls {
    display: grid;
    grid-template-columns: 1fr 1fr;
    gap: 0.7rem 1rem;
    align-content: start;
  }
  #previews {
    border-top: 0;
    padding-top: 0.3rem;
  }
  #previews .words {
    min-height: 0;
  }
  #model {
    grid-column: 1 / -1;
  }
  #model .words {
    min-height: 0;
  }
  .network {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr));
    gap: 0.75rem 2.25rem;
  }
  .place {
    font-size: 17px;
    font-weight: 650;
    paint-order: stroke;
    stroke: var(--paper);
    stroke-width: 4px;
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
    .stage > .models,
    .stage > .message {
      order: 0;
    }
    .stage > .pair {
      order: 1;
    }
    .side > [part='number'] {
      order: 2;
    }
    .stage > .sigma {
      order: 3;
    }
    .stage > .digits,
    .stage > .tools {
      order: 4;
    }
    .side > .takes {
      order: 5;
    }
  }
  @container (max-width: 480px) {
    .pair {
      grid-template-columns: 1.75fr 1fr;
      gap: 0.6rem;
    }
    .copies .grid {
      grid-template-columns: 1fr 1fr;
      gap: 3px;
    }
    .copies .copy:nth-child(n + 7),
    .copies figcaption {
      display: none;
    }
    .controls {
      grid-template-columns: 1fr;
    }
    .digits {
      display: grid;
      grid-template-columns: repeat(6, 1fr);
    }
    .digits .chip {
      grid-column: span 2;
      justify-content: center;
    }
    .words {
      min-height: 0;
    }
  }
`;
