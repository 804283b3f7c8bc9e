// SPDX-License-Identifier: MIT
// Base class of the labs: an element with the explorer's state and engine, which it does not own.
import { LitElement, type PropertyValues } from 'lit';
import { paletteOf, type Palette } from '../draw/palette.js';
import type { Engine } from '../engine/engine.js';
import type { State } from '../state/state.js';
import type { Store } from '../state/store.js';

export abstract class LabElement extends LitElement {
  static override properties = { store: { attribute: false }, engine: { attribute: false } };

  declare store: Store;
  declare engine: Engine;
  #listened: Engine | undefined;
  #unsubscribe: (() => void) | undefined;
  #palette: Palette | undefined;
  #scheme: MediaQueryList | undefined;

  get state(): Readonly<State> {
    return this.store.state;
  }

  /** Whether the lab has started. Before that, and after removal, there is nothing to draw and no engine. */
  protected get begun(): boolean {
    return this.#unsubscribe !== undefined;
  }

  /** The theme's colours for canvases. */
  protected get palette(): Palette {
    return (this.#palette ??= paletteOf(this));
  }

  readonly #themed = (): void => {
    this.#palette = undefined;
    this.requestUpdate();
  };

  override connectedCallback(): void {
    super.connectedCallback();
    this.#scheme = matchMedia('(prefers-color-scheme: dark)');
    this.#scheme.addEventListener('change', this.#themed);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#scheme?.removeEventListener('change', this.#themed);
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  /** The lab restarts when it gets a new engine: an explorer that is put back into a page brings a new one. */
  protected override updated(changed: PropertyValues): void {
    super.updated(changed);
    if (!this.engine || this.engine === this.#listened || !this.isConnected) return;
    this.#listened = this.engine;
    this.#palette = undefined;
    this.#unsubscribe?.();
    this.#unsubscribe = this.store.subscribe((state, before) => {
      if (state.theme !== before.theme) this.#palette = undefined;
      this.stateChanged(state, before);
      this.requestUpdate();
    });
    this.stateChanged(this.state, undefined);
    this.requestUpdate();
  }

  /** Called when the state changes, and once at the start, without `before`. */
  protected abstract stateChanged(state: Readonly<State>, before: Readonly<State> | undefined): void;

  /** Dispatches an event to the page; it bubbles out of all shadow roots. */
  protected report(type: 'ready' | 'progress' | 'result' | 'error', detail: unknown): void {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }));
  }
}
