// SPDX-License-Identifier: MIT
// The image lab: renders the state, the results of requests and the hovered items, and accepts files.
import { html, nothing } from 'lit';
import { classMap } from 'lit/directives/class-map.js';
import { guard } from 'lit/directives/guard.js';
import { isAborted } from '../../engine/latest.js';
import { estimatorList, estimatorStyles } from '../../panels/estimators.js';
import { panelStyles } from '../../panels/panel.js';
import { initial, isFirstList, type State } from '../../state/state.js';
import { sharedStyles } from '../../style/shared.js';
import { LabElement } from '../lab-element.js';
import type { SessionCallbacks } from '../lab-session.js';
import { labStyles } from '../styles.js';
import { controlStyles, digitBar, modelBar, modelPanel, sigmaBar, type Opening } from './controls.js';
import { copiesGrid, copiesStyles } from './copies.js';
import { boundaryPanel, curvesPanel, planePanel, previewsPanel, type FigureParts } from './figures.js';
import { copiesFor, type Loaded } from './models.js';
import { bars, labelBy, numberStyles, numberView, spoken, type Label } from './number.js';
import './paper.js';
import { encode, type Picture } from './picture.js';
import { ImageSession, plain } from './session.js';
import { layoutStyles } from './styles.js';
import type { Ui } from './ui.js';

class ImageLab extends LabElement<Ui, ImageSession> {
  static override styles = [
    sharedStyles,
    panelStyles,
    estimatorStyles,
    labStyles,
    controlStyles,
    copiesStyles,
    numberStyles,
    layoutStyles,
  ];

  constructor() {
    super();
    this.ui = { form: undefined, rival: undefined, readSigma: undefined, erase: false, over: false };
  }

  protected override newSession(callbacks: SessionCallbacks): ImageSession {
    const loaded = (found: Loaded, own: boolean) => this.#loaded(found, own);
    return new ImageSession(this.engine, () => this.state, { ...callbacks, loaded });
  }

  /** The message about a rejected file disappears with the next change of the state. */
  protected override stateChanged(state: Readonly<State>, before: Readonly<State> | undefined): void {
    this.settled('file');
    super.stateChanged(state, before);
  }

  #loaded({ model }: Loaded, own: boolean): void {
    this.point({ rival: undefined });
    if (own) this.store.set({ imageModel: 'own', ...plain, imageCopies: copiesFor(model.info), imageNames: [] });
    this.report('ready', { model: this.state.imageModel });
  }

  protected override answered(): void {
    const { quick } = this.session.answers;
    if (!quick || quick.key !== this.session.key(this.state)) return;
    this.announce(quick.key, quick.value.row, () => spoken(quick.value, this.#label));
  }

  get #label(): Label {
    return labelBy(this.state.imageNames);
  }

  /** The true class of a generated digit, for networks with ten classes. */
  get #right(): number | undefined {
    const { imagePixels, imageDigit } = this.state;
    return imagePixels === '' && this.session.loaded?.model.info.classes === 10 ? imageDigit : undefined;
  }

  async #open(file: File): Promise<void> {
    this.settled('file');
    try {
      if (file.type.startsWith('image/')) this.store.set({ imagePixels: encode(await this.session.open(file)) });
      else await this.session.offer(new Uint8Array(await file.arrayBuffer()), file.name);
    } catch (error) {
      if (!isAborted(error)) this.settled('file', error);
    }
  }

  #dragged(event: DragEvent): void {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    this.point({ over: event.type === 'dragover' });
    const [file] = event.type === 'drop' ? event.dataTransfer.files : [];
    if (file) void this.#open(file);
  }

  #drawing(opening: Opening) {
    const { session, ui } = this;
    const { loaded, picture, answers } = session;
    const { quick } = answers;
    const stale = quick?.key !== session.key(this.state);
    const answer = quick ? ` The network predicts ${this.#label(quick.value.row.target)}.` : '';
    return html`<div class="pair" part="picture">
        <probust-paper
          .picture=${picture}
          ?erase=${ui.erase}
          label="The image: draw with the pointer; or move the pen with the arrow keys, and put it down or lift it with space.${answer}"
          @draw=${(event: CustomEvent<Picture>) => this.store.set({ imagePixels: encode(event.detail) })}
        ></probust-paper>
        ${quick && loaded && picture ? guard([quick.value, stale], () => copiesGrid(quick.value, picture, stale)) : html`<div></div>`}
      </div>
      ${digitBar(opening, picture, ui, this.point)}`;
  }

  #stage() {
    const { store, session } = this;
    const parts = this.#figureParts();
    const opening: Opening = { store, session, onFile: (file) => void this.#open(file) };
    return html`<div class="stage">
      ${this.ifVisible('model', () => modelBar(opening))} ${this.ifVisible('picture', () => this.#drawing(opening))}
      ${this.isVisible('picture') || this.isVisible('sigma') ? sigmaBar(store, session.answers.quick?.value.row) : nothing}
      ${parts ? this.ifVisible('previews', () => previewsPanel(parts)) : nothing}
    </div>`;
  }

  #estimators() {
    const { quick, listed } = this.session.answers;
    if (!listed) return nothing;
    const { rows, forms } = listed.value;
    return html`<div class="listed">
      ${estimatorList({
        ...{ known: this.session.estimators, rows, forms, truth: quick?.value.row, against: `mc:${this.state.imageCopies}` },
        stale: listed.key !== this.session.key(this.state),
        hovered: this.ui.form,
        first: isFirstList(this.state, 'imageEstimators'),
        onMore: (more) => this.store.set({ more, imageEstimators: initial.imageEstimators }),
        onHover: (form) => this.point({ form }),
        onChoose: (chosen) => this.store.set({ imageEstimators: chosen.length > 0 ? chosen : initial.imageEstimators }),
      })}
    </div>`;
  }

  #side() {
    const { answers, key, ui } = this.parts;
    const { quick, listed } = answers;
    const stale = quick?.key !== key;
    const fresh = listed?.key === key ? listed.value : undefined;
    const softmax = fresh?.rows.find(({ estimator }) => estimator.startsWith('softmax'));
    const [label, right] = [this.#label, this.#right];
    const onRival = (rival: number | undefined) => this.point({ rival });
    return html`<div class="side">
      ${this.ifVisible('number', () => html`<div part="number">${numberView({ quick: quick?.value, stale, softmax, label, right })}</div>`)}
      ${this.ifVisible('rivals', () => (quick ? bars({ quick: quick.value, stale, label, right, rival: ui.rival, onRival }) : nothing))}
      ${this.ifVisible('estimators', () => this.#estimators())}
    </div>`;
  }

  /** The inputs of the panels; undefined until there is a network with its picture. */
  #figureParts(): FigureParts | undefined {
    const { picture, loaded, answers } = this.session;
    if (!picture || !loaded) return undefined;
    return { ...this.parts, picture, label: this.#label, gradients: answers.listed?.value.boundary !== undefined };
  }

  #panels() {
    const parts = this.#figureParts();
    if (!parts) return nothing;
    return html`<div class="panels">
      ${this.ifVisible('boundary', () => boundaryPanel(parts))} ${this.ifVisible('plane', () => planePanel(parts))}
      ${this.ifVisible('curves', () => curvesPanel(parts))} ${this.ifVisible('model', () => modelPanel(parts, this.session))}
    </div>`;
  }

  protected override render() {
    if (!this.begun) return nothing;
    const dragged = (event: DragEvent) => this.#dragged(event);
    return html`<div
      class=${classMap({ lab: true, over: this.ui.over, embedded: this.embed })}
      @dragover=${dragged}
      @dragleave=${dragged}
      @drop=${dragged}
    >
      <div class="first">${this.#stage()} ${this.#side()}</div>
      ${this.#panels()} ${this.spoken()}
    </div>`;
  }
}

if (!customElements.get('probust-image-lab')) customElements.define('probust-image-lab', ImageLab);
