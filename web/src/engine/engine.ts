// SPDX-License-Identifier: MIT
// Two workers: `quick` answers every frame, `patient` does longer work. Neither waits for the other.
import { createProbust, type EstimatorInfo, type Model, type ModelOptions, type Probust } from 'probust';

export type Side = 'quick' | 'patient';

export class Engine {
  /** All estimators; empty until the first worker has started. */
  estimators: readonly EstimatorInfo[] = [];
  readonly #created: Partial<Record<Side, Promise<Probust>>> = {};
  readonly #controller = new AbortController();

  /** Workers start on first use, so that the second does not slow down the first answer. */
  probust(side: Side): Promise<Probust> {
    return (this.#created[side] ??= this.#create());
  }

  async #create(): Promise<Probust> {
    const probust = await createProbust({ worker: true, signal: this.#controller.signal });
    this.estimators = probust.estimators;
    return probust;
  }

  async load(side: Side, bytes: Uint8Array, options: ModelOptions = {}): Promise<Model> {
    return (await this.probust(side)).loadModel(bytes, options);
  }

  /** Ends both workers. */
  dispose(): void {
    this.#controller.abort();
    for (const created of Object.values(this.#created)) {
      created.then((probust) => probust.dispose()).catch(() => undefined);
    }
  }
}
