// SPDX-License-Identifier: MIT
// The components of a page share one library with its workers, and each model and file. The library starts when the first
// component needs it, and stops when the last one is removed.
import type { Probust } from '../api.js';
import { readData, readRows, type PointData } from '../data.js';
import { usage } from '../errors.js';
import type { Model } from '../model.js';
import { takeProbust, type Lease } from '../page.js';
import type { ModelOptions, ModelSource, Row } from '../types.js';
import { Shelf } from './shelf.js';

const mostWorkers = 8;

/** The resolved address of a file. */
function resolved(which: string, address: string | URL): string {
  try {
    return new URL(address, document.baseURI).href;
  } catch (error) {
    throw usage(`"${String(address)}" is not an address for ${which}`, 'give an address, such as model.onnx', error);
  }
}

/** A unique number for every object. */
const numbersOf = new WeakMap<object, number>();
let objects = 0;
function numberOf(value: object): number {
  const number = numbersOf.get(value) ?? ++objects;
  numbersOf.set(value, number);
  return number;
}

function keyOf(source: ModelSource, options: ModelOptions): string {
  if (typeof source === 'string' || source instanceof URL) return JSON.stringify([resolved('model', source), options]);
  if (typeof source !== 'object' || source === null)
    throw usage('model is not an address, a file or a model', 'give the address of an ONNX file, its bytes, or a loaded model');
  return JSON.stringify([numberOf(source), options]);
}

class Page {
  readonly users = new Set<object>();
  readonly #models = new Shelf<string, Model>((model) => model.dispose());
  readonly #points = new Shelf<string, PointData>();
  readonly #rows = new Shelf<string, Row[]>();
  readonly #controller = new AbortController();
  #lease: Lease | undefined;

  async probust(): Promise<Probust> {
    const lease = (this.#lease ??= takeProbust('patient', mostWorkers));
    try {
      return await lease.probust;
    } catch (error) {
      if (this.#lease === lease) this.#lease = undefined; // the next request tries again
      lease.release();
      throw error;
    }
  }

  model(user: object, source: ModelSource, options: ModelOptions): Promise<Model> {
    return this.#models.get(keyOf(source, options), user, async () => (await this.probust()).loadModel(source, options));
  }

  points(user: object, address: string, limit: number | undefined): Promise<PointData> {
    const { signal } = this.#controller;
    const key = JSON.stringify([resolved('points', address), limit]);
    return this.#points.get(key, user, () => readData(address, { signal, limit }));
  }

  rows(user: object, address: string): Promise<Row[]> {
    return this.#rows.get(resolved('rows', address), user, () => readRows(address, this.#controller.signal));
  }

  /** Called after the workers have failed; the next request starts new ones. */
  renew(): void {
    this.#models.clear();
    this.#lease?.discard();
    this.#lease = undefined;
  }

  leave(user: object): void {
    this.users.delete(user);
    for (const shelf of [this.#models, this.#points, this.#rows]) shelf.release(user);
  }

  end(): void {
    this.#controller.abort();
    this.#lease?.release();
  }
}

let page: Page | undefined;

/** The access of one component to the library, models and files that the page shares. */
export interface Share {
  probust(): Promise<Probust>;
  model(source: ModelSource, options: ModelOptions): Promise<Model>;
  points(address: string, limit: number | undefined): Promise<PointData>;
  rows(address: string): Promise<Row[]>;
  renew(): void;
  release(): void;
}

function endUnused(own: Page): void {
  if (own.users.size > 0 || page !== own) return;
  page = undefined;
  own.end();
}

export function take(): Share {
  const own = (page ??= new Page());
  const user = {};
  own.users.add(user);
  return {
    probust: () => own.probust(),
    model: async (source, options) => own.model(user, source, options),
    points: async (address, limit) => own.points(user, address, limit),
    rows: async (address) => own.rows(user, address),
    renew: () => own.renew(),
    release() {
      own.leave(user);
      setTimeout(() => endUnused(own)); // a component that is moved, or one that replaces the last, continues to use it
    },
  };
}
