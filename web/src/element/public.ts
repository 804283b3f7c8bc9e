// SPDX-License-Identifier: MIT
// The public interface of the element.
import type { State } from '../state/state.js';

export type { State };

export interface ProbustExplorerElement extends HTMLElement {
  /** The state on screen. To change some of its parts, assign an object with these parts. */
  get state(): Readonly<State>;
  set state(patch: Partial<State>);
  /** The parts of the state that attributes can set. */
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
  /** Hides the true p next to the estimators while the user guesses it. */
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
