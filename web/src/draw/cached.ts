// SPDX-License-Identifier: MIT

/** The latest value, which is computed again when one of its inputs changes. */
export class Cached<T> {
  #inputs: readonly unknown[] | undefined;
  #value: T | undefined;

  get(inputs: readonly unknown[], make: () => T): T {
    if (!this.#inputs || inputs.some((input, i) => input !== this.#inputs![i])) {
      this.#value = make();
      this.#inputs = inputs;
    }
    return this.#value as T;
  }
}
