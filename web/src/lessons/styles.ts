// SPDX-License-Identifier: MIT
import { css } from 'lit';

export const lessonStyles = css`
  :host {
    display: block;
    min-height: 70vh;
  }
  h1 {
    margin: 1rem 0 0;
    font-size: 1.75rem;
    line-height: 1.2;
  }
  h2 {
    font-size: 1.375rem;
  }
  /* The heading gets the focus in each step, so that screen readers begin there. */
  h2:focus-visible {
    outline: none;
  }
  a {
    color: var(--accent);
  }
  .lesson {
    display: grid;
    grid-template-columns: minmax(18rem, 26rem) minmax(0, 1fr);
    gap: 2rem;
    align-items: start;
    padding-top: 0.75rem;
  }
  .text {
    max-width: 34rem;
  }
  .stage {
    position: relative;
    container-type: inline-size;
  }
  .source {
    color: var(--muted);
    font-size: 0.875rem;
  }
  math {
    margin: 0.75rem 0;
    font-size: clamp(0.8rem, 4vw, 1.125rem);
  }
  .actions,
  .guesses {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem 1rem;
    margin: 0.5rem 0;
  }
  .task {
    margin: 1rem 0;
    padding: 0.9rem 1rem;
    border-left: 4px solid var(--accent);
    background: var(--soft);
  }
  .ask {
    font-weight: 600;
  }
  .choices label {
    display: flex;
    align-items: center;
    gap: 0.5rem;
    min-height: 2.25rem;
  }
  .hint {
    margin: 0.4rem 0;
    font-size: 0.875rem;
  }
  .reply {
    margin: 0.6rem 0 0;
  }
  .reply:empty {
    display: none;
  }
  nav {
    display: flex;
    align-items: center;
    justify-content: space-between;
    gap: 1rem;
    margin-top: 1.25rem;
    padding-top: 0.75rem;
    border-top: 1px solid var(--line);
  }
  nav a {
    padding: 0.45rem 0.2rem;
  }
  nav a.primary {
    padding: 0.45rem 0.9rem;
    border-radius: 6px;
    background: var(--accent);
    color: var(--on-accent);
    text-decoration: none;
  }
  .lessons {
    display: grid;
    gap: 1rem;
    max-width: 40rem;
    padding-left: 1.4rem;
  }
  .lessons a {
    font-weight: 600;
    font-size: 1.125rem;
  }
  .lessons p {
    margin: 0;
  }
  @media (max-width: 800px) {
    .lesson {
      grid-template-columns: minmax(0, 1fr);
      gap: 1rem;
    }
  }
`;
