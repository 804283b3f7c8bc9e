// SPDX-License-Identifier: MIT
// Base class of the labs' elements. A lab shows the explorer's state and uses its engine; it owns neither.
import { html, LitElement, nothing, type PropertyDeclarations, type PropertyValues } from 'lit';
import { paletteOf, type Palette } from '../draw/palette.js';
import type { Engine } from '../engine/engine.js';
import { isVisible, type State } from '../state/state.js';
import type { Store } from '../state/store.js';
import type { LabSession, SessionCallbacks } from './lab-session.js';

/** The inputs of the panels. */
export interface Parts<Answers, Ui> {
  store: Store;
  answers: Answers;
  /** The key of the current request. */
  key: string;
  ui: Ui;
  palette: Palette;
  /** Changes the transient state, such as hovered items. */
  point(change: Partial<Ui>): void;
}

/** After this time without changes, a screen reader speaks p. */
const speakMilliseconds = 500;

type AnySession = Pick<LabSession<object>, 'answers' | 'key' | 'stateChanged' | 'dispose'>;

/** `Ui` is the transient state of the user interface, which no URL contains. */
export abstract class LabElement<Ui extends object, Session extends AnySession> extends LitElement {
  static override properties: PropertyDeclarations = {
    store: { attribute: false },
    engine: { attribute: false },
    embed: { type: Boolean },
    ui: { state: true },
    said: { state: true },
  };

  declare store: Store;
  declare engine: Engine;
  /** Whether a page embeds the lab, without the explorer's header. */
  declare embed: boolean;
  declare ui: Ui;
  /** The text for screen readers. */
  declare said: string;
  #session: Session | undefined;
  #speaking = 0;
  #announced: unknown;
  #listened: Engine | undefined;
  #unsubscribe: (() => void) | undefined;
  #palette: Palette | undefined;
  /** The error of each kind of work whose last attempt failed. */
  readonly #errors = new Map<unknown, unknown>();
  #scheme: MediaQueryList | undefined;

  constructor() {
    super();
    this.embed = false;
    this.said = '';
  }

  get state(): Readonly<State> {
    return this.store.state;
  }

  protected abstract newSession(callbacks: SessionCallbacks): Session;

  /** Called when there are new results. */
  protected abstract answered(): void;

  /** Created on first use, after the element has its engine. */
  protected get session(): Session {
    return (this.#session ??= this.newSession({
      changed: () => {
        if (!this.begun) return;
        this.requestUpdate();
        this.answered();
      },
      settled: (work, error) => this.settled(work, error),
    }));
  }

  /** Whether the lab has started. Before that, and after removal, it has no engine and nothing to draw. */
  protected get begun(): boolean {
    return this.#unsubscribe !== undefined;
  }

  /** The theme's colours for canvases. */
  protected get palette(): Palette {
    return (this.#palette ??= paletteOf(this));
  }

  protected get parts(): Parts<Session['answers'], Ui> {
    const { store, session, ui, palette, point } = this;
    return { store, answers: session.answers, key: session.key(this.state), ui, palette, point };
  }

  protected readonly point = (change: Partial<Ui>): void => {
    this.ui = { ...this.ui, ...change };
  };

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
    clearTimeout(this.#speaking);
    this.#session?.dispose();
    this.#session = this.#announced = undefined;
  }

  /** The lab restarts when it gets a new engine: an explorer that is put back into a page has a new one. */
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
  protected stateChanged(state: Readonly<State>, before: Readonly<State> | undefined): void {
    this.session.stateChanged(state, before);
  }

  /**
   * Called when work has ended, with or without an error. The explorer shows the newest error of work that has not succeeded
   * since.
   */
  protected settled(work: unknown, error?: unknown): void {
    const known = this.#errors.delete(work);
    if (error === undefined && !known) return;
    if (error !== undefined) {
      this.#errors.set(work, error);
      this.report('error', error);
    }
    this.dispatchEvent(new CustomEvent('problem', { detail: [...this.#errors.values()].at(-1) ?? null, bubbles: true }));
  }

  /** Dispatches an event to the page; it bubbles out of all shadow roots. */
  protected report(type: 'ready' | 'progress' | 'result' | 'error', detail: unknown): void {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }));
  }

  /** Whether no result has been announced yet. */
  protected get silent(): boolean {
    return this.#announced === undefined;
  }

  /** Reports a result once for each `answer`, and lets a screen reader speak it after a pause without changes. */
  protected announce(answer: unknown, result: object, spoken: () => string): void {
    if (answer === this.#announced) return;
    this.#announced = answer;
    this.report('result', result);
    clearTimeout(this.#speaking);
    this.#speaking = window.setTimeout(() => (this.said = spoken()), speakMilliseconds);
  }

  protected isVisible(panel: string): boolean {
    return isVisible(this.state, panel);
  }

  /** The content of a panel, if it is visible. */
  protected ifVisible(panel: string, content: () => unknown): unknown {
    return this.isVisible(panel) ? content() : nothing;
  }

  /** The text for screen readers, which is not visible on screen. */
  protected spoken() {
    return html`<p class="visually-hidden" role="status" aria-live="polite">${this.said}</p>`;
  }
}
