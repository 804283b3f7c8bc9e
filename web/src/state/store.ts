// SPDX-License-Identifier: MIT
import { initial, type State } from './state.js';

type Listener = (state: Readonly<State>, before: Readonly<State>) => void;

/** Holds the state, and notifies subscribers when a part of it changes. */
export class Store {
  #state: Readonly<State>;
  readonly #listeners = new Set<Listener>();

  constructor(patch: Partial<State> = {}) {
    this.#state = { ...initial, ...patch };
  }

  get state(): Readonly<State> {
    return this.#state;
  }

  set(patch: Partial<State>): void {
    const before = this.#state;
    const changed = (Object.keys(patch) as (keyof State)[]).some((key) => patch[key] !== before[key]);
    if (!changed) return;
    this.#state = { ...before, ...patch };
    for (const listener of this.#listeners) listener(this.#state, before);
  }

  /** Returns a function that unsubscribes. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
