// SPDX-License-Identifier: MIT
// Layout for wide and narrow screens.
import { css } from 'lit';

export const layoutStyles = css`
  :host {
    display: block;
  }
  .first {
    display: grid;
    gap: 1rem 2.25rem;
    grid-template-columns: minmax(0, 600px) minmax(390px, 1fr);
    padding: 0.9rem 0 1.5rem;
  }
  .stage {
    display: grid;
    gap: 0.7rem;
    align-content: start;
  }
  .side {
    padding-top: 0.3rem;
    min-width: 0;
  }
  .caption {
    margin: 0;
  }
  .spread {
    justify-content: space-between;
  }
  .panels {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr));
    gap: 1.75rem 2.25rem;
  }
  .stack {
    display: grid;
    gap: 1.75rem;
    align-content: start;
  }
  .controls {
    display: grid;
    grid-template-columns: 1fr 1fr;
    gap: 0.9rem 1.25rem;
    align-items: start;
  }
  .boundary {
    margin-top: 1rem;
    padding-top: 0.8rem;
    border-top: 1px solid var(--line);
  }
  table.rivals {
    border-collapse: collapse;
    width: 100%;
  }
  .rivals caption {
    text-align: left;
    color: var(--muted);
    padding-bottom: 0.25rem;
  }
  .rivals th,
  .rivals td {
    text-align: right;
    padding: 0.15rem 0.4rem;
    font-weight: 400;
  }
  .rivals th:first-child {
    text-align: left;
  }
  .rivals thead th {
    color: var(--muted);
    border-bottom: 1px solid var(--line);
  }
  .rivals tbody th {
    font-weight: 600;
  }
  .rivals button {
    padding: 0;
    color: inherit;
    font-weight: 600;
    font-size: inherit;
  }
  .rivals tr.hovered {
    background: var(--soft);
  }
  .rivals .dot {
    display: inline-block;
    width: 10px;
    height: 10px;
    margin-right: 0.4rem;
    border-radius: 50%;
    background: var(--dot);
  }
  .preset {
    margin-bottom: 0.9rem;
  }
  .preset h3 {
    font-size: 0.9375rem;
    margin: 0;
  }
  .preset p {
    margin: 0 0 0.35rem;
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
    .stage > .own {
      order: 0;
    }
    .stage > [part='picture'] {
      order: 1;
      width: 100%;
      max-width: 600px;
      margin: 0 auto;
    }
    .side > [part='number'] {
      order: 2;
    }
    .stage > .sigma {
      order: 3;
    }
    .stage > .caption {
      order: 3;
    }
    .stage > .training,
    .stage > .toggles {
      order: 4;
    }
  }
  @container (max-width: 480px) {
    .controls {
      grid-template-columns: 1fr;
    }
    .words {
      min-height: 0;
    }
  }
`;
