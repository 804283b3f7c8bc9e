// SPDX-License-Identifier: MIT
// The image lab: renders state, answers and hovered items, and accepts files.
import { html, nothing } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { LabElement } from '../../element/lab-element.js';
import { sharedStyles } from '../../element/tokens.js';
import { isAborted } from '../../engine/latest.js';
import { estimatorList, estimatorStyles } from '../../panels/estimators.js';
import { panelStyles } from '../../panels/panel.js';
import { initial, type State } from '../../state/state.js';
import { controlStyles, digitBar, modelBar, modelPanel, sigmaSlider, type Opening } from './controls.js';
import { copiesGrid, copiesStyles } from './copies.js';
import { boundaryPanel, curvesPanel, planePanel, previewsPanel, type FigureParts } from './figures.js';
import { copiesFor, type Loaded } from './models.js';
import { bars, label, numberStyles, numberView, spoken } from './number.js';
import './paper.js';
import { encode, type Picture } from './picture.js';
import { plain, Session } from './session.js';
import { layoutStyles } from './styles.js';
import type { Ui } from './ui.js';

/** How long nothing must change before a screen reader speaks p. */
const speakMilliseconds = 500;

export class ImageLab extends LabElement {
  static override properties = {
    ...LabElement.properties,
    embed: { type: Boolean },
    ui: { state: true },
    said: { state: true },
    message: { state: true },
  };
  static override styles = [sharedStyles, panelStyles, estimatorStyles, controlStyles, copiesStyles, numberStyles, layoutStyles];

  declare embed: boolean;
  declare ui: Ui;
  declare said: string;
  /** An error message for users. */
  declare message: string;
  #session: Session | undefined;
  #speaking = 0;
  #announced = '';

  constructor() {
    super();
    this.embed = false;
    this.said = this.message = '';
    this.ui = { form: undefined, rival: undefined, erase: false, over: false };
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.#speaking);
    this.#session?.dispose();
    this.#session = undefined;
    this.#announced = '';
  }

  protected override stateChanged(state: Readonly<State>, before: Readonly<State> | undefined): void {
    this.#current.stateChanged(state, before);
  }

  /** Created on first use, after the element has its engine. */
  get #current(): Session {
    return (this.#session ??= new Session(this.engine, () => this.state, {
      changed: () => this.#answered(),
      failed: (error) => this.#failed(error),
      loaded: (loaded, own) => this.#loaded(loaded, own),
      wants: (panel) => this.#visible(panel),
    }));
  }

  #failed(error: unknown): void {
    if (isAborted(error)) return;
    this.message = error instanceof Error ? error.message : String(error);
    this.report('error', error);
  }

  #loaded({ model }: Loaded, own: boolean): void {
    this.message = '';
    this.#point({ rival: undefined });
    if (own) this.store.set({ imageModel: 'own', ...plain, imageCopies: copiesFor(model.info) });
    this.report('ready', { model: this.state.imageModel });
  }

  #answered(): void {
    this.requestUpdate();
    const { quick } = this.#current.answers;
    if (!quick || quick.key !== this.#current.key(this.state) || this.#announced === quick.key) return;
    this.#announced = quick.key;
    this.report('result', quick.value.row);
    clearTimeout(this.#speaking);
    this.#speaking = window.setTimeout(() => (this.said = spoken(quick.value)), speakMilliseconds);
  }

  #visible(name: string): boolean {
    const { panels } = this.state;
    return panels.length === 0 || panels.includes(name);
  }

  readonly #point = (change: Partial<Ui>): void => {
    this.ui = { ...this.ui, ...change };
  };

  async #open(file: File): Promise<void> {
    this.message = '';
    try {
      if (file.type.startsWith('image/')) this.store.set({ imagePixels: encode(await this.#current.open(file)) });
      else await this.#current.offer(new Uint8Array(await file.arrayBuffer()), file.name);
    } catch (error) {
      this.#failed(error);
    }
  }

  #dragged(event: DragEvent): void {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    this.#point({ over: event.type === 'dragover' });
    const [file] = event.type === 'drop' ? event.dataTransfer.files : [];
    if (file) void this.#open(file);
  }

  #stage() {
    const session = this.#current;
    const parts = this.#parts();
    const { picture, answers } = session;
    const { quick } = answers;
    const stale = quick?.key !== session.key(this.state);
    const opening: Opening = { store: this.store, session, onFile: (file) => void this.#open(file) };
    const answer = quick ? ` The network answers ${label(quick.value.row.target)}.` : '';
    return html`<div class="stage">
      ${this.#visible('model') ? modelBar(opening) : nothing}
      ${this.message ? html`<p class="message" role="alert">${this.message}</p>` : nothing}
      ${
        this.#visible('picture')
          ? html`<div class="pair" part="picture">
                <probust-paper
                  .picture=${picture}
                  ?erase=${this.ui.erase}
                  label="The image: draw with the pointer, or move the pen by arrow keys and put it down with space.${answer}"
                  @draw=${(event: CustomEvent<Picture>) => this.store.set({ imagePixels: encode(event.detail) })}
                ></probust-paper>
                ${quick && session.loaded && picture ? guard([quick.value, stale], () => copiesGrid(quick.value, picture, stale)) : html`<div></div>`}
              </div>
              ${digitBar(opening, picture, this.ui, this.#point)}`
          : nothing
      }
      ${this.#visible('picture') || this.#visible('sigma') ? sigmaSlider(this.store) : nothing}
      ${parts && this.#visible('previews') ? previewsPanel(parts) : nothing}
    </div>`;
  }

  #side() {
    const session = this.#current;
    const key = session.key(this.state);
    const { quick, listed } = session.answers;
    const fresh = listed?.key === key ? listed.value : undefined;
    const softmax = fresh?.rows.find(({ estimator }) => estimator.startsWith('softmax'));
    return html`<div class="side">
      ${this.#visible('number') ? html`<div part="number">${numberView(quick?.value, quick?.key !== key, softmax)}</div>` : nothing}
      ${
        this.#visible('rivals') && quick
          ? bars({
              quick: quick.value,
              stale: quick.key !== key,
              rival: this.ui.rival,
              onRival: (rival) => this.#point({ rival }),
            })
          : nothing
      }
      ${
        this.#visible('estimators') && listed
          ? html`<div class="listed">
              ${estimatorList({
                rows: listed.value.rows,
                forms: listed.value.forms,
                truth: quick?.value.row,
                against: 'the count',
                stale: listed.key !== key,
                hovered: this.ui.form,
                onHover: (form) => this.#point({ form }),
                onChoose: (forms) => this.store.set({ imageEstimators: forms.length > 0 ? forms : initial.imageEstimators }),
              })}
            </div>`
          : nothing
      }
    </div>`;
  }

  #parts(): FigureParts | undefined {
    const session = this.#current;
    const { picture, loaded, answers } = session;
    if (!picture || !loaded) return undefined;
    return {
      ...{ store: this.store, answers, key: session.key(this.state), ui: this.ui, palette: this.palette, picture },
      gradients: answers.listed?.value.boundary !== undefined,
      point: this.#point,
    };
  }

  #panels() {
    const session = this.#current;
    const parts = this.#parts();
    if (!parts) return nothing;
    const shown = (name: string, content: () => unknown) => (this.#visible(name) ? content() : nothing);
    return html`<div class="panels">
      ${shown('boundary', () => boundaryPanel(parts))} ${shown('plane', () => planePanel(parts))}
      ${shown('curves', () => curvesPanel(parts))} ${shown('model', () => modelPanel(parts, session))}
    </div>`;
  }

  protected override render() {
    if (!this.begun) return nothing;
    const dragged = (event: DragEvent) => this.#dragged(event);
    return html`<div class="lab ${this.ui.over ? 'over' : ''}" @dragover=${dragged} @dragleave=${dragged} @drop=${dragged}>
      <div class="first">${this.#stage()} ${this.#side()}</div>
      ${this.#panels()}
      <p class="visually-hidden" role="status" aria-live="polite">${this.said}</p>
    </div>`;
  }
}

if (!customElements.get('probust-image-lab')) customElements.define('probust-image-lab', ImageLab);
