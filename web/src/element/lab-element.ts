// SPDX-License-Identifier: MIT
// What every lab is: an element with the state and the engine of the explorer around it, which it does not own.
import { LitElement, type PropertyValues } from 'lit';
import type { Engine } from '../engine/engine.js';
import type { State } from '../state/state.js';
import type { Store } from '../state/store.js';

export abstract class LabElement extends LitElement {
  static override properties = { store: { attribute: false }, engine: { attribute: false } };

  declare store: Store;
  declare engine: Engine;
  #unsubscribe: (() => void) | undefined;

  get state(): Readonly<State> {
    return this.store.state;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.hasUpdated) this.#listen();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  protected override firstUpdated(changed: PropertyValues): void {
    super.firstUpdated(changed);
    this.#listen();
  }

  /** Called when the state changes, and once at the beginning with what it is. */
  protected abstract stateChanged(state: Readonly<State>, before: Readonly<State> | undefined): void;

  /** Tells the page: `ready`, `progress`, `result` or `error`; it bubbles out of all shadow roots. */
  protected report(type: 'ready' | 'progress' | 'result' | 'error', detail: unknown): void {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }));
  }

  #listen(): void {
    this.#unsubscribe ??= this.store.subscribe((state, before) => {
      this.stateChanged(state, before);
      this.requestUpdate();
    });
    this.stateChanged(this.state, undefined);
  }
}
