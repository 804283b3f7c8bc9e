// SPDX-License-Identifier: MIT
import { css, html } from 'lit';
import { classAt } from '../../draw/field.js';
import { letter } from '../../draw/palette.js';
import type { Pair } from '../../draw/view.js';
import { LabElement } from '../../element/lab-element.js';
import { sharedStyles } from '../../element/tokens.js';
import type { State } from '../../state/state.js';
import type { Scene } from './layers.js';
import './picture.js';
import { Session } from './session.js';

export class PlaneLab extends LabElement {
  static override styles = [
    sharedStyles,
    css`
      :host {
        display: block;
      }
      .first {
        display: grid;
        gap: 1.5rem;
        grid-template-columns: minmax(0, 640px) minmax(0, 1fr);
        padding-top: 1rem;
      }
      @container (max-width: 760px) {
        .first {
          grid-template-columns: minmax(0, 1fr);
        }
      }
      .big {
        font-size: 3.25rem;
        font-weight: 700;
        line-height: 1.1;
      }
      .stale {
        opacity: 0.55;
      }
    `,
  ];

  #session: Session | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#session?.dispose();
    this.#session = undefined;
  }

  protected override stateChanged(state: Readonly<State>, before: Readonly<State> | undefined): void {
    this.#session ??= new Session(this.engine, {
      changed: () => this.requestUpdate(),
      failed: (error) => this.report('error', error),
    });
    this.#session.stateChanged(state, before);
  }

  #scene(): Scene | undefined {
    const session = this.#session;
    if (!session) return undefined;
    const { x, sigma, ratio, angle } = this.state;
    const at = x as Pair;
    const { field } = session;
    const target = field ? classAt(field, ...at) : 0;
    const label = `The point, at ${at.map((value) => value.toFixed(2)).join(', ')}: class ${letter(target)}. Arrow keys move it.`;
    return { view: session.view, field, at, noise: { sigma, ratio, angle }, target, label, onMass: () => undefined };
  }

  protected override render() {
    const quick = this.#session?.quick;
    const stale = quick && quick.key !== this.#session!.key(this.state);
    return html`<div class="first">
      <probust-plane-picture
        part="picture"
        .scene=${this.#scene()}
        @move=${(event: CustomEvent<Pair>) => this.store.set({ x: event.detail })}
      ></probust-plane-picture>
      <div part="number">
        <div class="big ${stale ? 'stale' : ''}">${quick ? `${(100 * quick.truth.p!).toFixed(1)} %` : '...'}</div>
        <p>of noisy copies keep the answer</p>
        <label
          >sigma
          <input
            type="range"
            min="0.01"
            max="1"
            step="0.01"
            .value=${String(this.state.sigma)}
            @input=${(event: Event) => this.store.set({ sigma: Number((event.target as HTMLInputElement).value) })}
        /></label>
      </div>
    </div>`;
  }
}

if (!customElements.get('probust-plane-lab')) customElements.define('probust-plane-lab', PlaneLab);
