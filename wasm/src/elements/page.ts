// SPDX-License-Identifier: MIT
// What the components of a page share: one library with its workers, and each model and file once. It starts when the first
// component needs it, and ends with the last.
import type { Probust } from '../api.js';
import { readData, readRows, type PointData } from '../data.js';
import type { Model } from '../model.js';
import { takeProbust, type Lease } from '../page.js';
import type { ModelOptions, ModelSource, Row } from '../types.js';

const mostWorkers = 8;

interface Store<Key, Value> {
  get(key: Key): Promise<Value> | undefined;
  set(key: Key, value: Promise<Value>): unknown;
  delete(key: Key): boolean;
}

/** The value for a key, made once; forgotten if that fails. */
function kept<Key, Value>(store: Store<Key, Value>, key: Key, make: () => Promise<Value>): Promise<Value> {
  const known = store.get(key);
  if (known) return known;
  const made = make();
  store.set(key, made);
  made.catch(() => store.delete(key));
  return made;
}

const addressed = (address: string | URL, options?: unknown): string =>
  JSON.stringify([new URL(address, document.baseURI).href, options]);

class Page {
  users = 0;
  readonly #controller = new AbortController();
  readonly #named = new Map<string, Promise<Model>>();
  readonly #given = new WeakMap<object, Map<string, Promise<Model>>>();
  readonly #points = new Map<string, Promise<PointData>>();
  readonly #rows = new Map<string, Promise<Row[]>>();
  #lease: Lease | undefined;

  async probust(): Promise<Probust> {
    const lease = (this.#lease ??= takeProbust('patient', mostWorkers));
    try {
      return await lease.probust;
    } catch (error) {
      if (this.#lease === lease) this.#lease = undefined; // whoever comes next tries again
      lease.release();
      throw error;
    }
  }

  model(source: ModelSource, options: ModelOptions): Promise<Model> {
    const loading = async () => (await this.probust()).loadModel(source, options);
    if (typeof source === 'string' || source instanceof URL) return kept(this.#named, addressed(source, options), loading);
    const models = this.#given.get(source) ?? new Map<string, Promise<Model>>();
    this.#given.set(source, models);
    return kept(models, JSON.stringify(options), loading);
  }

  points(address: string, limit: number | undefined): Promise<PointData> {
    const { signal } = this.#controller;
    return kept(this.#points, addressed(address, limit), () => readData(address, { signal, limit }));
  }

  rows(address: string): Promise<Row[]> {
    return kept(this.#rows, addressed(address), () => readRows(address, this.#controller.signal));
  }

  end(): void {
    this.#controller.abort();
    this.#lease?.release();
  }
}

let page: Page | undefined;

/** A component's share in the page. */
export type Share = Pick<Page, 'probust' | 'model' | 'points' | 'rows'> & { release(): void };

function endUnused(own: Page): void {
  if (own.users > 0 || page !== own) return;
  page = undefined;
  own.end();
}

export function take(): Share {
  const own = (page ??= new Page());
  own.users += 1;
  let released = false;
  return {
    probust: () => own.probust(),
    model: (source, options) => own.model(source, options),
    points: (address, limit) => own.points(address, limit),
    rows: (address) => own.rows(address),
    release() {
      if (released) return;
      released = true;
      own.users -= 1;
      setTimeout(() => endUnused(own)); // a component that is moved, or replaces the last one, goes on with it
    },
  };
}
