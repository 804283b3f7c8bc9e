// SPDX-License-Identifier: MIT
// The 2-D lab: renders state, answers and hovered items.
import { html, nothing } from 'lit';
import { guard } from 'lit/directives/guard.js';
import type { Row } from 'probust';
import type { Pair } from '../../draw/view.js';
import { LabElement } from '../../element/lab-element.js';
import { sharedStyles } from '../../element/tokens.js';
import { estimatorList, estimatorStyles } from '../../panels/estimators.js';
import { panel, panelStyles } from '../../panels/panel.js';
import { savePng } from '../../panels/save.js';
import { initial, type DataSet, type State } from '../../state/state.js';
import {
  controlStyles,
  dataBar,
  layerToggles,
  ownPoints,
  settings,
  shapeControls,
  sigmaSlider,
  trainingBar,
} from './controls.js';
import {
  boundaryLine,
  convergencePanel,
  correlationPanel,
  countingPanel,
  curvesPanel,
  rivalTable,
  type FigureParts,
} from './figures.js';
import { numberStyles, numberView, spoken } from './number.js';
import './picture.js';
import { pretrained } from './models.js';
import { presetsPanel } from './presets-panel.js';
import { sceneOf, TintKeeper } from './scene.js';
import { Session, truthOf } from './session.js';
import { layoutStyles } from './styles.js';
import { Trainer } from './trainer.js';
import type { Ui } from './ui.js';

const caption = html`<p class="caption small muted">
  Drag the point. The ring shows one sigma of noise, the dotted one two. The shaded share of the noise changes the answer; small
  rings are copies that did.
</p>`;

/** How long nothing must change before a screen reader speaks p. */
const speakMilliseconds = 500;

export class PlaneLab extends LabElement {
  static override properties = { ...LabElement.properties, embed: { type: Boolean }, ui: { state: true }, said: { state: true } };
  static override styles = [sharedStyles, panelStyles, estimatorStyles, controlStyles, numberStyles, layoutStyles];

  declare embed: boolean;
  declare ui: Ui;
  declare said: string;
  readonly #tints = new TintKeeper();
  #session: Session | undefined;
  #trainer: Trainer | undefined;
  #speaking = 0;
  #announced: Row | undefined;

  constructor() {
    super();
    this.embed = false;
    this.said = '';
    this.ui = { form: undefined, rival: undefined, adding: undefined, preset: undefined };
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.#speaking);
    this.#trainer?.dispose();
    this.#session?.dispose();
    this.#session = this.#trainer = this.#announced = undefined;
  }

  protected override stateChanged(state: Readonly<State>, before: Readonly<State> | undefined): void {
    const { session, trainer } = this.#parts();
    session.stateChanged(state, before);
    this.#train(trainer, state, before);
  }

  /** Created on first use, after the element has its engine. */
  #parts(): { session: Session; trainer: Trainer } {
    this.#session ??= new Session(this.engine, {
      changed: () => this.#answered(),
      failed: (error) => this.report('error', error),
      wants: (name) => this.#visible(name),
    });
    const session = this.#session;
    this.#trainer ??= new Trainer(this.engine, () => this.state, {
      trained: async (bytes, { epoch }) => {
        if (this.state.model !== 'trained') return;
        this.store.set({ epochs: Math.round(epoch) });
        await session.use(bytes, this.state, this.#trainer?.playing);
      },
      progress: (done, planned) => this.report('progress', { done, planned }),
      changed: () => this.#trainerChanged(),
      failed: (error) => this.report('error', error),
    });
    return { session, trainer: this.#trainer };
  }

  /** Training follows the state: a shared state is trained again, a changed setting restarts with new weights. */
  #train(trainer: Trainer, state: Readonly<State>, before: Readonly<State> | undefined): void {
    if (state.model !== 'trained') {
      if (trainer.playing) trainer.pause();
      return;
    }
    const fresh = (['data', 'classes', 'hidden', 'activation', 'trainSeed'] as const).some((key) => state[key] !== before?.[key]);
    if (before?.model === 'trained' && state.points !== before.points) {
      trainer.showData();
      if (trainer.playing) trainer.play();
    }
    if (before && before.model === 'trained' && !fresh) return;
    // A new network starts at epoch 0, and keeps training if the one before was training.
    const { playing } = trainer;
    if (before && state.epochs === before.epochs) this.store.set({ epochs: 0 });
    if (playing) trainer.play();
    else trainer.restore();
  }

  #trainerChanged(): void {
    const { session, trainer } = this.#parts();
    // The last network of a run gets fine regions.
    if (!trainer.playing && this.state.model === 'trained') session.settle(this.state);
    this.requestUpdate();
  }

  #answered(): void {
    this.requestUpdate();
    const { answers } = this.#session!;
    const [quick, truth] = [answers.quick?.value, truthOf(answers)];
    if (!quick || !truth || this.#announced === truth) return;
    if (!this.#announced) this.#first();
    this.#announced = truth;
    this.report('result', { ...truth, x: quick.asked.x, sigma: quick.asked.sigma });
    clearTimeout(this.#speaking);
    this.#speaking = window.setTimeout(() => (this.said = spoken(truth, quick.asked.sigma)), speakMilliseconds);
  }

  /** The second worker and the data wait until the first answer is on screen. */
  #first(): void {
    this.report('ready', { model: this.state.model });
    this.#trainer?.showData();
  }

  #visible(name: string): boolean {
    const { panels } = this.state;
    return panels.length === 0 || panels.includes(name);
  }

  readonly #point = (change: Partial<Ui>): void => {
    this.ui = { ...this.ui, ...change };
  };

  #moved(to: Pair): void {
    // Rounded as in the URL, so that a shared state is identical.
    const x = to.map((value) => Number(value.toFixed(3)));
    const { adding } = this.ui;
    if (adding === undefined) this.store.set({ x });
    else this.store.set({ points: [...this.state.points, ...x, adding] });
  }

  #choose(data: DataSet): void {
    this.#point({ adding: data === 'own' ? 0 : undefined, preset: undefined });
    this.store.set({ data, model: 'trained', epochs: 0 });
    if (data !== 'own') this.#trainer!.play();
  }

  /** Pretrained networks cannot be trained further: training starts with new weights on their data. */
  #play(): void {
    const { model } = this.state;
    if (model !== 'trained') this.store.set({ ...pretrained[model]?.data, model: 'trained', epochs: 0 });
    this.#trainer!.play();
  }

  #figureParts(): FigureParts {
    const { session } = this.#parts();
    return {
      store: this.store,
      answers: session.answers,
      key: session.key(this.state),
      ui: this.ui,
      palette: this.palette,
      point: this.#point,
    };
  }

  #picture() {
    const { session, trainer } = this.#parts();
    const scene = sceneOf({ state: this.state, session, trainer, ui: this.ui, palette: this.palette, tints: this.#tints });
    const picture = html`<probust-plane-picture
      part="picture"
      .scene=${scene}
      .palette=${this.palette}
      @move=${(event: CustomEvent<Pair>) => this.#moved(event.detail)}
      @shape=${(event: CustomEvent<Partial<State>>) => this.store.set(event.detail)}
    ></probust-plane-picture>`;
    return { scene, picture };
  }

  #stage(picture: unknown) {
    const chosen = {
      store: this.store,
      ui: this.ui,
      onData: (data: DataSet) => this.#choose(data),
      onPretrained: (model: string) => {
        this.#point({ adding: undefined, preset: undefined });
        this.store.set({ model, ...pretrained[model]!.data });
        this.#trainer!.showData();
      },
    };
    const { trainer } = this.#parts();
    const reset = () => {
      trainer.pause();
      this.store.set({ epochs: 0 });
      trainer.restore();
    };
    return html`<div class="stage">
      ${this.#visible('training') ? dataBar(chosen) : nothing}
      ${this.#visible('training') && this.state.model === 'trained' && this.state.data === 'own' ? ownPoints(chosen, (adding) => this.#point({ adding })) : nothing}
      ${this.#visible('picture') ? picture : nothing} ${this.#visible('picture') && !this.embed ? caption : nothing}
      ${this.#visible('sigma') || this.#visible('picture') ? sigmaSlider(this.store) : nothing}
      ${this.#visible('training') ? trainingBar(this.store, trainer, { reset, play: () => this.#play() }) : nothing}
      ${this.embed ? nothing : html`<div class="bar spread toggles">${layerToggles(this.store)}<button class="quiet" @click=${() => this.#savePicture()}>Save picture</button></div>`}
    </div>`;
  }

  #savePicture(): void {
    const canvas = this.renderRoot.querySelector('probust-plane-picture')?.shadowRoot?.querySelector('canvas');
    if (canvas) savePng(canvas, 'probust-picture.png');
  }

  #side(mass: number | undefined, parts: FigureParts) {
    const { answers, key } = parts;
    const { quick, listed } = answers;
    const truth = truthOf(answers);
    return html`<div class="side">
      ${this.#visible('number') ? html`<div part="number">${numberView({ truth, stale: quick?.key !== key, mass })}</div>` : nothing}
      ${
        this.#visible('estimators') && listed
          ? guard([listed.value, truth, listed.key === key, this.ui.form], () =>
              estimatorList({
                rows: listed.value.rows,
                forms: listed.value.forms,
                truth,
                stale: listed.key !== key,
                hovered: this.ui.form,
                onHover: (form) => this.#point({ form }),
                onChoose: (forms) => this.store.set({ estimators: forms.length > 0 ? forms : initial.estimators }),
              }),
            )
          : nothing
      }
      ${this.#visible('boundary') ? html`${boundaryLine(parts)} ${rivalTable(parts)}` : nothing}
    </div>`;
  }

  #panels(parts: FigureParts) {
    const shown = (name: string, content: () => unknown) => (this.#visible(name) ? content() : nothing);
    return html`<div class="panels">
      ${shown('curves', () => curvesPanel(parts))} ${shown('convergence', () => convergencePanel(parts))}
      ${shown('correlation', () => correlationPanel(parts))} ${shown('counting', () => countingPanel(parts))}
      ${shown('presets', () => presetsPanel({ store: this.store, ui: this.ui, point: this.#point }))}
      <div class="stack">
        ${shown('shape', () =>
          panel({
            id: 'shape',
            title: 'Shape of the noise',
            words:
              'Noise need not be round: stretch and turn its ellipse, here or by the small handle on its ring. The same sigma, turned, can keep the answer or lose it.',
            figure: html`<div class="controls">${shapeControls(this.store)}</div>`,
            source: html`Full covariance:
              <cite
                >Scher and Trügler, Testing robustness of predictions of trained classifiers against naturally occurring
                perturbations</cite
              >, section 3.2.`,
          }),
        )}
        ${shown('training', () =>
          panel({
            id: 'training',
            title: 'How it learns',
            words:
              'Smoothness punishes steep networks: straight lines fit them better, so that Taylor comes nearer to the truth. It may be changed while the network learns.',
            figure: html`<div class="controls">${settings(this.store)}</div>`,
            source: html`Gradient-norm regularisation, loss + lambda ‖∇ₓ loss‖²: <cite>Srinivas and Fleuret, 2018</cite>, as used
              by Han, Srinivas and Lakkaraju.`,
          }),
        )}
      </div>
    </div>`;
  }

  /** At most one update per frame, for changes of the state and answers of both workers. */
  protected override async scheduleUpdate(): Promise<void> {
    await new Promise(requestAnimationFrame);
    await super.scheduleUpdate();
  }

  protected override render() {
    if (!this.begun) return nothing;
    const parts = this.#figureParts();
    const { scene, picture } = this.#picture();
    return html`
      ${
        ['picture', 'sigma', 'number', 'estimators', 'boundary', 'training'].some((name) => this.#visible(name))
          ? html`<div class="first">${this.#stage(picture)} ${this.#side(scene?.tint?.mass, parts)}</div>`
          : nothing
      }
      ${this.#panels(parts)}
      <p class="visually-hidden" role="status" aria-live="polite">${this.said}</p>
    `;
  }
}

if (!customElements.get('probust-plane-lab')) customElements.define('probust-plane-lab', PlaneLab);
