// SPDX-License-Identifier: MIT
// What the components of a page share: one library with its workers, and each model once. It starts when the first component
// needs it, and ends with the last.
import type { Probust } from '../api.js';
import { createProbust } from '../index.js';
import type { Model } from '../model.js';
import type { ModelOptions, ModelSource } from '../types.js';

class Page {
  users = 0;
  readonly #controller = new AbortController();
  readonly #named = new Map<string, Promise<Model>>();
  readonly #given = new WeakMap<object, Promise<Model>>();
  #probust: Promise<Probust> | undefined;

  probust(): Promise<Probust> {
    if (!this.#probust) {
      const threads = Math.min(8, Math.max(1, navigator.hardwareConcurrency || 2));
      this.#probust = createProbust({ threads, signal: this.#controller.signal });
      this.#probust.catch(() => (this.#probust = undefined)); // whoever comes next tries again
    }
    return this.#probust;
  }

  model(source: ModelSource, options: ModelOptions): Promise<Model> {
    const loading = async () => (await this.probust()).loadModel(source, options);
    if (typeof source !== 'string' && !(source instanceof URL)) return kept(this.#given, source, loading);
    return kept(this.#named, JSON.stringify([new URL(source, document.baseURI).href, options]), loading);
  }

  end(): void {
    this.#controller.abort();
    this.#probust?.then((probust) => probust.dispose()).catch(() => undefined);
  }
}

interface Store<Key> {
  get(key: Key): Promise<Model> | undefined;
  set(key: Key, value: Promise<Model>): unknown;
  delete(key: Key): boolean;
}

/** The value for a key, made once; forgotten if that fails. */
function kept<Key>(store: Store<Key>, key: Key, make: () => Promise<Model>): Promise<Model> {
  const known = store.get(key);
  if (known) return known;
  const made = make();
  store.set(key, made);
  made.catch(() => store.delete(key));
  return made;
}

let page: Page | undefined;

/** A component's share in the page. */
export interface Lease {
  probust(): Promise<Probust>;
  model(source: ModelSource, options: ModelOptions): Promise<Model>;
  release(): void;
}

function endUnused(own: Page): void {
  if (own.users > 0 || page !== own) return;
  page = undefined;
  own.end();
}

export function take(): Lease {
  const own = (page ??= new Page());
  own.users += 1;
  let released = false;
  return {
    probust: () => own.probust(),
    model: (source, options) => own.model(source, options),
    release() {
      if (released) return;
      released = true;
      own.users -= 1;
      setTimeout(() => endUnused(own)); // a component that is moved, or replaces the last one, goes on with it
    },
  };
}
