// SPDX-License-Identifier: MIT
// The 2-D lab: renders the state, the results of requests and the hovered items.
import { html, nothing } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { Cached } from '../../draw/cached.js';
import type { Tint } from '../../draw/tint.js';
import type { Pair } from '../../draw/view.js';
import { estimatorList, estimatorStyles } from '../../panels/estimators.js';
import { panelStyles } from '../../panels/panel.js';
import { savePng } from '../../panels/save.js';
import { initial, isFirstList, type DataSet, type State } from '../../state/state.js';
import { sharedStyles } from '../../style/shared.js';
import { newNoise } from '../controls.js';
import { LabElement } from '../lab-element.js';
import type { SessionCallbacks } from '../lab-session.js';
import { labStyles } from '../styles.js';
import { controlStyles, dataBar, layerToggles, ownPoints, sigmaBar, trainingBar } from './controls.js';
import { boundaryLine, curvesPanel, shapePanel, trainingPanel, type FigureParts } from './figures.js';
import { pretrained } from './models.js';
import { numberStyles, numberView, spoken } from './number.js';
import './picture.js';
import { chosenPair, presetsPanel } from './presets-panel.js';
import { sceneOf } from './scene.js';
import { PlaneSession, truthOf } from './session.js';
import { layoutStyles } from './styles.js';
import { Trainer } from './trainer.js';
import type { Ui } from './ui.js';

const caption = html`<p class="caption small muted">
  Drag the point. The large rings show one and two sigmas of noise. The shaded part of it changes the prediction; small rings are
  samples whose prediction changed.
</p>`;

/**
 * While the point moves, the content next to the picture and below it is drawn at this interval: nobody can read faster, and
 * drawing all tables and charts takes longer than drawing the picture.
 */
const readMilliseconds = 100;

class PlaneLab extends LabElement<Ui, PlaneSession> {
  static override styles = [sharedStyles, panelStyles, estimatorStyles, labStyles, controlStyles, numberStyles, layoutStyles];

  static override properties = { ...LabElement.properties, secret: { type: Boolean } };

  /** Whether the true p is hidden. */
  declare secret: boolean;
  readonly #tint = new Cached<Tint>();
  #advanced: typeof import('./advanced.js') | undefined;
  #trainer: Trainer | undefined;
  /** When the point or its noise last changed, when and how often details were drawn, and the timer of the next drawing. */
  readonly #details = { asked: -Infinity, drawn: -Infinity, turn: 0, timer: 0 };

  constructor() {
    super();
    this.ui = {
      form: undefined,
      rival: undefined,
      adding: undefined,
      preset: undefined,
      readSigma: undefined,
      readCost: undefined,
    };
  }

  override disconnectedCallback(): void {
    this.#trainer?.dispose();
    this.#trainer = undefined;
    clearTimeout(this.#details.timer);
    super.disconnectedCallback();
  }

  protected override newSession(callbacks: SessionCallbacks): PlaneSession {
    return new PlaneSession(this.engine, () => this.state, callbacks);
  }

  /** Created on first use, after the element has its engine. */
  get #training(): Trainer {
    return (this.#trainer ??= new Trainer(this.engine, () => this.state, {
      trained: async (bytes, { epoch }) => {
        if (!this.begun || this.state.model !== 'trained') return;
        this.store.set({ epochs: Math.round(epoch) });
        await this.session.use(bytes, this.#trainer?.playing);
      },
      progress: (done, planned) => this.report('progress', { done, planned }),
      changed: () => this.#trainerChanged(),
      settled: (error) => this.settled('training', error),
    }));
  }

  protected override stateChanged(state: Readonly<State>, before: Readonly<State> | undefined): void {
    // The data that training was waiting for may have arrived.
    this.settled('training');
    if (before && this.session.key(state) !== this.session.key(before)) this.#details.asked = performance.now();
    super.stateChanged(state, before);
    this.#train(this.#training, state, before);
  }

  /**
   * Training follows the state: the network of a shared state is trained again, and a changed setting restarts training with new
   * weights.
   */
  #train(trainer: Trainer, state: Readonly<State>, before: Readonly<State> | undefined): void {
    if (state.model !== 'trained') {
      if (trainer.playing) trainer.pause();
      if (before && state.model !== before.model) trainer.showData();
      return;
    }
    const fresh = (['data', 'classes', 'hidden', 'activation', 'trainSeed'] as const).some((key) => state[key] !== before?.[key]);
    if (before?.model === 'trained' && state.points !== before.points) {
      trainer.showData();
      if (trainer.playing) trainer.play();
    }
    if (before && before.model === 'trained' && !fresh) return;
    // A new network starts at epoch 0, and trains if the previous one was training.
    const { playing } = trainer;
    if (before && state.epochs === before.epochs) this.store.set({ epochs: 0 });
    if (playing) trainer.play();
    else trainer.restore();
  }

  #trainerChanged(): void {
    if (!this.begun) return;
    // The regions of the last network of a training run are drawn on the fine grid.
    if (!this.#training.playing && this.state.model === 'trained') this.session.settle();
    this.requestUpdate();
  }

  protected override answered(): void {
    const { answers } = this.session;
    const [quick, truth] = [answers.quick?.value, truthOf(answers)];
    if (!quick || !truth) return;
    if (this.silent) this.#first();
    const { x, sigma } = quick.asked;
    this.announce(truth, { ...truth, x, sigma }, () => (this.secret ? '' : spoken(truth, sigma)));
  }

  /** Called when the first result is on screen. The patient worker and the data are not needed earlier. */
  #first(): void {
    this.report('ready', { model: this.state.model });
    this.#training.showData();
  }

  #moved(to: Pair): void {
    // Rounded as in the URL, so that a shared state is identical.
    const x = to.map((value) => Number(value.toFixed(3)));
    const { adding } = this.ui;
    if (adding === undefined) this.store.set({ x });
    else this.store.set({ points: [...this.state.points, ...x, adding] });
  }

  #chooseData(data: DataSet): void {
    this.point({ adding: data === 'own' ? 0 : undefined, preset: undefined });
    this.store.set({ data, model: 'trained', epochs: 0 });
    if (data !== 'own') this.#training.play();
  }

  #choosePretrained(model: string): void {
    this.point({ adding: undefined, preset: undefined });
    this.store.set({ model, ...pretrained[model]!.data });
  }

  /** Starts training. Pretrained networks cannot be trained further, so training starts with new weights on their data. */
  #play(): void {
    const { model } = this.state;
    if (model !== 'trained') this.store.set({ ...pretrained[model]?.data, model: 'trained', epochs: 0 });
    this.#training.play();
  }

  #reset(): void {
    this.#training.pause();
    this.store.set({ epochs: 0 });
    this.#training.restore();
  }

  #picture() {
    const { state, session, ui, palette } = this;
    const scene = sceneOf({ state, session, trainer: this.#training, ui, palette, tint: this.#tint });
    const picture = html`<probust-plane-picture
      part="picture"
      .scene=${scene}
      .palette=${palette}
      @move=${(event: CustomEvent<Pair>) => this.#moved(event.detail)}
      @shape=${(event: CustomEvent<Partial<State>>) => this.store.set(event.detail)}
    ></probust-plane-picture>`;
    return { scene, picture };
  }

  #dataBars() {
    const { store, ui, state } = this;
    const chosen = {
      ...{ store, ui },
      onData: (data: DataSet) => this.#chooseData(data),
      onPretrained: (model: string) => this.#choosePretrained(model),
    };
    const own = state.model === 'trained' && state.data === 'own';
    return html`${dataBar(chosen)} ${own ? ownPoints(chosen, (adding) => this.point({ adding })) : nothing}`;
  }

  #stage(picture: unknown) {
    const { store } = this;
    const buttons = { reset: () => this.#reset(), play: () => this.#play() };
    return html`<div class="stage">
      ${this.ifVisible('training', () => this.#dataBars())}
      ${this.ifVisible('picture', () => html`${chosenPair({ ...this.parts, show: this.#show })} ${picture} ${this.embed ? nothing : caption}`)}
      ${this.isVisible('sigma') || this.isVisible('picture') ? sigmaBar(store, this.secret ? undefined : truthOf(this.session.answers)) : nothing}
      ${this.ifVisible('training', () => trainingBar(store, this.#training, buttons))}
      ${this.embed ? nothing : html`<div class="bar spread toggles">${layerToggles(store)} ${newNoise(store)}<button class="quiet" @click=${() => this.#savePicture()}>Save picture</button></div>`}
    </div>`;
  }

  /**
   * A number that changes when details must be drawn: at every update while nothing moves, at intervals during a move, and once
   * after it.
   */
  #turn(): number {
    const details = this.#details;
    const now = performance.now();
    clearTimeout(details.timer);
    if (now - details.asked < readMilliseconds) {
      details.timer = window.setTimeout(() => this.requestUpdate(), readMilliseconds);
      if (now - details.drawn < readMilliseconds) return details.turn;
    }
    details.drawn = now;
    return ++details.turn;
  }

  get #shown(): Element | null {
    return this.renderRoot.querySelector('probust-plane-picture');
  }

  readonly #show = (): void => this.#shown?.scrollIntoView({ block: 'center' });

  #savePicture(): void {
    const canvas = this.#shown?.shadowRoot?.querySelector('canvas');
    if (canvas) savePng(canvas, 'probust-picture.png');
  }

  #estimators({ answers, key, ui }: FigureParts) {
    const { listed } = answers;
    if (!listed) return nothing;
    const { rows, forms } = listed.value;
    const truth = this.secret ? undefined : truthOf(answers);
    const stale = listed.key !== key;
    const hovered = ui.form;
    return guard([listed.value, truth, stale, hovered], () =>
      estimatorList({
        ...{ known: this.session.estimators, rows, forms, truth, stale, hovered },
        first: isFirstList(this.state, 'estimators'),
        onMore: (more) => this.store.set({ more, estimators: initial.estimators }),
        onHover: (form) => this.point({ form }),
        onChoose: (chosen) => this.store.set({ estimators: chosen.length > 0 ? chosen : initial.estimators }),
      }),
    );
  }

  /** Loads the panels that beginners do not see, as soon as one of them is shown. */
  #loadAdvanced(): void {
    const shown = ['slopes', 'boundary', 'convergence', 'correlation', 'counting', 'smoothing'];
    const wanted = this.state.more || shown.some((name) => this.state.panels.includes(name));
    if (this.#advanced || !wanted) return;
    import('./advanced.js').then(
      (loaded) => {
        this.#advanced = loaded;
        this.requestUpdate();
      },
      (error: unknown) => this.settled('advanced', error),
    );
  }

  /** Whether to show the table of rivals, which is about the lines in the picture. */
  get #hasRivalTable(): boolean {
    return this.isVisible('slopes') || (this.state.panels.includes('boundary') && this.state.show.includes('lines'));
  }

  #side(mass: number | undefined, parts: FigureParts, turn: number) {
    const { answers, key } = parts;
    const number = () => numberView({ truth: truthOf(answers), stale: answers.quick?.key !== key, mass });
    const details = () =>
      html`${this.ifVisible('estimators', () => this.#estimators(parts))}
      ${this.ifVisible('boundary', () => html`${boundaryLine(parts)} ${this.#hasRivalTable ? this.#advanced?.rivalTable(parts) : nothing}`)}`;
    return html`<div class="side">
      ${this.ifVisible('number', () => html`<div part="number">${number()}</div>`)} ${guard([turn], details)}
    </div>`;
  }

  #panels(parts: FigureParts) {
    return html`<div class="panels">
      ${this.ifVisible('curves', () => curvesPanel(parts))}
      ${this.ifVisible('convergence', () => this.#advanced?.convergencePanel(parts))}
      ${this.ifVisible('correlation', () => this.#advanced?.correlationPanel(parts))}
      ${this.ifVisible('counting', () => this.#advanced?.countingPanel(parts))}
      ${this.ifVisible('smoothing', () => this.#advanced?.smoothingPanel(parts))}
      ${this.ifVisible('presets', () => presetsPanel({ ...parts, show: this.#show }))}
      ${this.ifVisible('shape', () => shapePanel(this.store))} ${this.ifVisible('training', () => trainingPanel(this.store))}
    </div>`;
  }

  /** Updates at most once per frame, even if the state changes and both workers return results. */
  protected override async scheduleUpdate(): Promise<void> {
    await new Promise(requestAnimationFrame);
    await super.scheduleUpdate();
  }

  protected override render() {
    if (!this.begun) return nothing;
    this.#loadAdvanced();
    const { parts } = this;
    const turn = this.#turn();
    const { scene, picture } = this.#picture();
    const first = ['picture', 'sigma', 'number', 'estimators', 'boundary', 'training'].some((name) => this.isVisible(name));
    return html`<div class="lab ${this.embed ? 'embedded' : ''}">
      ${first ? html`<div class="first">${this.#stage(picture)} ${this.#side(scene?.tint?.mass, parts, turn)}</div>` : nothing}
      ${guard([turn], () => this.#panels(parts))} ${this.spoken()}
    </div>`;
  }
}

if (!customElements.get('probust-plane-lab')) customElements.define('probust-plane-lab', PlaneLab);
