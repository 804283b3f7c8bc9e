// SPDX-License-Identifier: MIT
import { css } from 'lit';

export const layoutStyles = css`
  :host {
    --columns: minmax(0, 600px) minmax(390px, 1fr);
  }
  .stage {
    gap: 0.7rem;
  }
  .caption {
    margin: 0;
  }
  .spread {
    justify-content: space-between;
  }
  .controls {
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
    .stage > .own,
    .stage > .pair {
      order: 0;
    }
    .stage > [part='picture'] {
      order: 1;
      width: 100%;
      max-width: 600px;
      margin: 0 auto;
    }
    .stage > .caption {
      order: 3;
    }
    .stage > .training,
    .stage > .toggles {
      order: 4;
    }
  }
`;
