// SPDX-License-Identifier: MIT
// A cache of values that several users share: each value is created once, and dropped when its last user releases it.

/** Each user holds at most one value of a shelf: the one that it requested most recently. */
export class Shelf<Key, Value> {
  readonly #kept = new Map<Key, { value: Promise<Value>; users: Set<object> }>();

  /** `drop` is called for values without users. */
  constructor(private readonly drop: (value: Value) => void = () => undefined) {}

  get(key: Key, user: object, make: () => Promise<Value>): Promise<Value> {
    const known = this.#kept.get(key) ?? this.#made(key, make());
    known.users.add(user);
    this.release(user, key);
    return known.value;
  }

  /** Releases the user's value, unless its key is `kept`. */
  release(user: object, kept?: Key): void {
    for (const [key, { users }] of this.#kept) if (key !== kept && users.delete(user) && users.size === 0) this.#later(key);
  }

  /** Forgets all values. */
  clear(): void {
    this.#kept.clear();
  }

  #made(key: Key, value: Promise<Value>) {
    const made = { value, users: new Set<object>() };
    this.#kept.set(key, made);
    value.catch(() => this.#kept.get(key) === made && this.#kept.delete(key)); // the next request tries again
    return made;
  }

  /** Delays the release, so that a component that replaces the last user can still use the value. */
  #later(key: Key): void {
    const unused = this.#kept.get(key)!;
    setTimeout(() => {
      if (this.#kept.get(key) !== unused || unused.users.size > 0) return;
      this.#kept.delete(key);
      unused.value.then(this.drop, () => undefined);
    });
  }
}
