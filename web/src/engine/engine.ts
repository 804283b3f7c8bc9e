// SPDX-License-Identifier: MIT
// The connection of an explorer to the page's workers. With at least two cores, there is one worker for quick work and a
// "patient" one for long work, and neither waits for the other.
import type { EstimatorInfo, Model, ModelOptions, Probust } from 'probust';
import { takeProbust, type Lease, type Side } from 'probust/page';

export type { Side };

export class Engine {
  /** All estimators; empty until the first worker has started. */
  estimators: readonly EstimatorInfo[] = [];
  readonly #leases: Partial<Record<Side, Lease>> = {};
  #disposed = false;

  /** Workers start on first use, so that starting the patient worker does not delay the first result. */
  async probust(side: Side): Promise<Probust> {
    const lease = (this.#leases[side] ??= this.#take(side));
    try {
      const probust = await lease.probust;
      this.estimators = probust.estimators;
      return probust;
    } catch (error) {
      // The next request tries again.
      if (this.#leases[side] === lease) delete this.#leases[side];
      lease.release();
      throw error;
    }
  }

  #take(side: Side): Lease {
    if (this.#disposed) throw new DOMException('the explorer was removed', 'AbortError');
    return takeProbust(side);
  }

  async load(side: Side, bytes: Uint8Array, options: ModelOptions = {}): Promise<Model> {
    const model = await this.#loaded(side, bytes, options).catch((error: unknown) => {
      if ((error as { code?: string }).code !== 'environment' || !this.#leases[side]) throw error;
      // The worker has ended, so the model is loaded into another one.
      this.#leases[side]!.discard();
      delete this.#leases[side];
      return this.#loaded(side, bytes, options);
    });
    // The explorer was removed in the meantime. Its worker may still be running, because other explorers use it.
    if (this.#disposed) model.dispose();
    return model;
  }

  async #loaded(side: Side, bytes: Uint8Array, options: ModelOptions): Promise<Model> {
    return (await this.probust(side)).loadModel(bytes, options);
  }

  /** Releases both workers. */
  dispose(): void {
    this.#disposed = true;
    for (const lease of Object.values(this.#leases)) lease.release();
  }
}
