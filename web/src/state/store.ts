// SPDX-License-Identifier: MIT
import { initial, type State } from './state.js';

type Listener = (state: Readonly<State>, before: Readonly<State>) => void;

/** Whether two values are the same, or are lists with the same elements: reading a URL creates new lists. */
const same = (a: unknown, b: unknown): boolean =>
  Object.is(a, b) ||
  (Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((each, i) => Object.is(each, b[i])));

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
    const changed = Object.entries(patch).filter(([key, value]) => !same(value, before[key as keyof State]));
    if (changed.length === 0) return;
    this.#state = { ...before, ...Object.fromEntries(changed) };
    for (const listener of this.#listeners) listener(this.#state, before);
  }

  /** Returns a function that unsubscribes. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
