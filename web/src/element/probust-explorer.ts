// SPDX-License-Identifier: MIT
// <probust-explorer>: the state, the engine and a tab for each lab. Labs are loaded when they are first opened.
import { css, html, LitElement, nothing, type PropertyValues } from 'lit';
import { Engine } from '../engine/engine.js';

import { checked, labs, themes, type Lab, type State } from '../state/state.js';
import { Store } from '../state/store.js';
import { sharedStyles } from '../style/shared.js';
import { themeStyles } from '../style/theme.js';
import { attributesOf, stateOf } from './attributes.js';
import { helpStyles } from './help.js';
import { all } from './labs.js';
import { messageOf } from './messages.js';
import { PageAddress, urlOf } from './page-address.js';

export class ProbustExplorer extends LitElement {
  static override properties = {
    ...attributesOf,
    ...{
      loaded: { state: true },
      message: { state: true },
      problem: { state: true },
      refused: { state: true },
      card: { state: true },
    },
  };

  static override styles = [
    themeStyles,
    sharedStyles,
    helpStyles,
    css`
      :host {
        display: block;
        background: var(--paper);
        container-type: inline-size;
      }
      header {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 0.25rem 1.25rem;
        padding: 0.5rem 0 0.25rem;
        border-bottom: 1px solid var(--line);
      }
      .name {
        font-weight: 700;
        letter-spacing: -0.01em;
      }
      [role='tablist'] {
        display: flex;
        flex-wrap: wrap;
        gap: 0.25rem;
        flex: 1 1 auto;
      }
      @container (max-width: 480px) {
        [role='tablist'] {
          flex-basis: 0;
        }
      }
      [role='tab'] {
        border: 0;
        border-bottom: 3px solid transparent;
        border-radius: 0;
        background: none;
        white-space: nowrap;
      }
      [role='tab'][aria-selected='true'] {
        border-bottom-color: var(--accent);
        font-weight: 600;
      }
      .tools {
        display: flex;
        gap: 0.25rem;
        margin-left: auto;
      }
      .tools button {
        border-color: transparent;
        background: none;
        color: var(--ink);
      }
      .tools button[aria-pressed='true'] {
        border-color: var(--ink);
      }
      .tools button:hover {
        border-color: var(--line);
      }
      [role='status'] {
        margin: 0;
        font-size: 0.875rem;
        color: var(--muted);
      }
      [role='status']:empty {
        display: none;
      }
      [role='alert'] {
        margin: 0.5rem 0 0;
        padding: 0.6rem 0.8rem;
        border-left: 4px solid var(--warm);
        border-radius: 4px;
        background: var(--soft);
        overflow-wrap: anywhere;
      }
    `,
  ];

  declare embed: boolean;
  declare brief: boolean;
  declare secret: boolean;
  declare hash: boolean;
  declare panels: string | string[] | undefined;
  declare loaded: Lab | undefined;
  /** The result of the last action. */
  declare message: string;
  /** The current error, until it is resolved. */
  declare problem: string;
  /** The message that names invalid values; empty if there are none. */
  declare refused: string;

  /** The state. Controls and attributes set parts of it. */
  readonly store = new Store();
  #engine: Engine | undefined;
  #started = false;
  #ends: (() => void)[] = [];
  #address: PageAddress | undefined;
  #watcher: IntersectionObserver | undefined;

  constructor() {
    super();
    this.message = this.problem = this.refused = '';
    this.embed = this.brief = this.secret = this.hash = false;
  }

  /** The current state, as `statechange` reports it. */
  get state(): Readonly<State> {
    return this.store.state;
  }

  set state(patch: Partial<State>) {
    this.#set(patch);
  }

  /** Sets the valid parts, and names the invalid ones in `refused`. */
  #set(given: object): void {
    if (Object.keys(given ?? {}).length === 0) return;
    const { valid, wrong } = checked(given);
    this.store.set(valid);
    this.refused = wrong.length > 0 ? `These values are not valid: ${wrong.join(', ')}.` : '';
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#ends.push(this.store.subscribe((state, before) => this.#changed(state, before)));
    // On the first connection, the address is read later, because the attributes must be applied first.
    if (this.hasUpdated) this.#bindHash();
    // Nothing is downloaded or computed before the element is visible.
    this.#watcher = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && this.#start());
    this.#watcher.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const end of this.#ends.splice(0)) end();
    this.#address?.end();
    this.#address = undefined;
    this.#watcher?.disconnect();
    this.#engine?.dispose();
    this.#engine = undefined;
    this.#started = false;
    this.loaded = undefined;
  }

  protected override willUpdate(changed: PropertyValues): void {
    this.#set(stateOf(this, changed));
    this.#bindHash();
  }

  #bindHash(): void {
    if (this.hash && this.isConnected) this.#address ??= new PageAddress(this.store);
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#watcher?.disconnect();
    this.#engine = new Engine();
    // Loads the module in parallel with the lab's script. If this fails, the first request reports the error.
    this.#engine.probust('quick').catch(() => undefined);
    void this.#open();
  }

  async #open(): Promise<void> {
    const { lab } = this.state;
    try {
      await all[lab].load();
      if (this.isConnected && lab === this.state.lab) this.loaded = lab;
    } catch (error) {
      if (this.isConnected && lab === this.state.lab) this.#missing(lab, error);
    }
  }

  /** If the script of a lab cannot be loaded, returns to the lab on screen. */
  #missing(lab: Lab, error: unknown): void {
    if (this.loaded) this.store.set({ lab: this.loaded });
    const advice = this.loaded ? 'then choose its tab again' : 'then reload the page';
    this.problem = `The ${all[lab].title} cannot be loaded. Check your connection, ${advice}.`;
    this.dispatchEvent(new CustomEvent('error', { detail: error, bubbles: true, composed: true }));
  }

  #changed(state: Readonly<State>, before: Readonly<State>): void {
    if (state.theme !== before.theme) this.setAttribute('theme', state.theme);
    this.message = '';
    if (state.lab !== before.lab) this.problem = '';
    if (state.lab !== before.lab && this.#started) void this.#open();
    this.dispatchEvent(new CustomEvent('statechange', { detail: state, bubbles: true, composed: true }));
    this.requestUpdate();
  }

  /** The URL of this state. */
  shareUrl(): string {
    return urlOf(this.state);
  }

  async #share(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.shareUrl());
      this.message = 'Link copied. It restores everything on screen.';
    } catch {
      this.message = `Copy this link: ${this.shareUrl()}`;
    }
  }

  #turnTheme(): void {
    const next = themes[(themes.indexOf(this.state.theme) + 1) % themes.length]!;
    this.store.set({ theme: next });
  }

  #key(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = labs[(labs.indexOf(this.state.lab) + step + labs.length) % labs.length]!;
    this.store.set({ lab: next });
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
  }

  #header() {
    const tab = (lab: Lab) => {
      const selected = lab === this.state.lab;
      return html`<button
        role="tab"
        id="tab-${lab}"
        aria-selected=${selected}
        aria-controls="lab"
        tabindex=${selected ? 0 : -1}
        @click=${() => this.store.set({ lab })}
      >
        ${all[lab].title}
      </button>`;
    };
    return html`<header part="header">
      <span class="name">probust</span>
      <div role="tablist" aria-label="Labs" @keydown=${(event: KeyboardEvent) => this.#key(event)}>${labs.map(tab)}</div>
      <div class="tools">
        <button @click=${() => this.#share()}>Share</button>
        <button aria-pressed=${this.state.projector} @click=${() => this.store.set({ projector: !this.state.projector })}>
          Projector
        </button>
        <button @click=${() => this.#turnTheme()}>Theme: ${this.state.theme}</button>
        <button @click=${() => this.#help()} aria-label="Help">?</button>
        <slot name="tools"></slot>
      </div>
    </header>`;
  }

  /** The help card, after it was first opened. */
  declare card: unknown;

  async #help(): Promise<void> {
    try {
      this.card ??= (await import('./help-card.js')).help;
      await this.updateComplete;
      this.renderRoot.querySelector('dialog')!.showModal();
    } catch (error) {
      this.problem = messageOf(error);
    }
  }

  protected override render() {
    const { store, embed, secret } = this;
    const brief = this.brief || this.state.projector;
    return html`
      ${this.embed ? nothing : this.#header()} ${this.embed ? nothing : this.card}
      <p role="status">${this.message}</p>
      ${this.refused || this.problem ? html`<p role="alert">${this.refused || this.problem}</p>` : nothing}
      <div
        id="lab"
        @problem=${({ detail }: CustomEvent<unknown>) => (this.problem = detail === null ? '' : messageOf(detail))}
        role=${this.embed ? nothing : 'tabpanel'}
        aria-labelledby=${this.embed ? nothing : `tab-${this.state.lab}`}
      >
        ${this.loaded ? all[this.loaded].show({ store, engine: this.#engine, embed, brief, secret }) : nothing}
        <slot></slot>
      </div>
    `;
  }
}
