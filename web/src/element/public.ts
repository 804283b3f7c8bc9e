// SPDX-License-Identifier: MIT
// The element as pages see it.
import type { State } from '../state/state.js';

export type { State };

export interface ProbustExplorerElement extends HTMLElement {
  /** What is on screen. Assign an object with some of its parts to change these. */
  get state(): Readonly<State>;
  set state(patch: Partial<State>);
  /** Parts of the state, as attributes give them. */
  lab: State['lab'] | undefined;
  theme: State['theme'] | undefined;
  more: boolean | string | undefined;
  x: State['x'] | string | undefined;
  noise: State['noise'] | undefined;
  sigma: number | string | undefined;
  model: string | undefined;
  data: State['data'] | undefined;
  estimators: string | string[] | undefined;
  /** Shows only the lab, without tabs. */
  embed: boolean;
  /** Shows panels without their descriptions and sources. */
  brief: boolean;
  /** Hides the truth next to estimators, while somebody predicts it. */
  secret: boolean;
  /** Keeps the state in the page's URL. */
  hash: boolean;
  /** Visible panels; all by default. */
  panels: string | string[] | undefined;
  /** The URL of this state. */
  shareUrl(): string;
}

declare global {
  interface HTMLElementTagNameMap {
    'probust-explorer': ProbustExplorerElement;
  }
}
