// SPDX-License-Identifier: MIT
import { css } from 'lit';

export const layoutStyles = css`
  :host {
    --columns: minmax(0, 640px) minmax(0, 1fr);
    position: relative;
  }
  .lab.over {
    outline: 3px dashed var(--accent);
    outline-offset: 6px;
    border-radius: 8px;
  }
  .stage {
    gap: 0.8rem;
  }
  .pair {
    display: grid;
    grid-template-columns: 1fr 1fr;
    gap: 1rem;
    align-items: start;
  }
  .engine {
    margin: 0 0 0.5rem;
  }
  .controls {
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
    .stage > .pair {
      order: 1;
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
    .digits {
      display: grid;
      grid-template-columns: repeat(6, 1fr);
    }
    .digits .chip {
      grid-column: span 2;
      justify-content: center;
    }
  }
`;
