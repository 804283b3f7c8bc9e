// SPDX-License-Identifier: MIT
// Keeps the state in the page's address. The browser's Back and Forward buttons return to labs, networks and data that were
// chosen earlier.
import { fromHash, toHash } from '../state/hash.js';
import type { State } from '../state/state.js';
import type { Store } from '../state/store.js';

/** Changes of these parts of the state can be undone with the browser's Back button. */
const steps = ['lab', 'model', 'data', 'imageModel', 'imageDigit'] as const;

/** Browsers allow about a hundred changes of the address in half a minute, so it is written only after a pause. */
const pauseMilliseconds = 250;

/** The page's URL with this state. */
export const urlOf = (state: Readonly<State>): string => `${location.href.replace(/#.*$/, '')}#${toHash(state)}`;

export class PageAddress {
  /** The state of an address without a hash. */
  readonly #base: Readonly<State>;
  readonly #end: () => void;
  #pending: number | undefined;
  #reading = false;

  constructor(private readonly store: Store) {
    this.#base = store.state;
    // Back and Forward do not change the theme.
    const read = () => this.#read({ theme: store.state.theme });
    addEventListener('hashchange', read);
    const unsubscribe = store.subscribe((state, before) => this.#changed(state, before));
    this.#end = () => {
      removeEventListener('hashchange', read);
      unsubscribe();
      clearTimeout(this.#pending);
    };
    this.#read();
  }

  end(): void {
    this.#end();
  }

  #read(kept: Partial<State> = {}): void {
    this.#reading = true;
    this.store.set({ ...this.#base, ...fromHash(location.hash), ...kept });
    this.#reading = false;
  }

  #changed(state: Readonly<State>, before: Readonly<State>): void {
    if (!this.#reading && steps.some((key) => state[key] !== before[key])) return this.#step(state, before);
    clearTimeout(this.#pending);
    this.#pending = window.setTimeout(() => this.#replace(state), pauseMilliseconds);
  }

  #step(state: Readonly<State>, before: Readonly<State>): void {
    if (this.#pending !== undefined) this.#replace(before);
    history.pushState(history.state, '', urlOf(state));
  }

  #replace(state: Readonly<State>): void {
    clearTimeout(this.#pending);
    this.#pending = undefined;
    history.replaceState(history.state, '', urlOf(state));
  }
}
