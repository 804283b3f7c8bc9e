// SPDX-License-Identifier: MIT
// The data-set lab: many labelled points, p against softmax, and which classes are fragile.
import { html, LitElement, nothing } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { paletteOf } from '../../draw/palette.js';
import { panelStyles } from '../../panels/panel.js';
import { saveText } from '../../panels/save.js';
import { percentOf } from '../../panels/words.js';
import { dataSources, type State } from '../../state/state.js';
import type { Store } from '../../state/store.js';
import { sharedStyles } from '../../style/shared.js';
import { sigmaSlider } from '../controls.js';
import { labStyles } from '../styles.js';
import { isSelected, type Brush } from './scatter.js';
import { byClass, distributionFigure, distributionKeys } from './distribution.js';
import { contentOf, DatasetSession, type Data, type Item } from './session.js';
import { sources } from './sources.js';
import { datasetStyles } from './styles.js';
import './thumbnail.js';

const fragile: Brush = [0, 0.6, 0.9, 1];
const everything: Brush = [0, 1, 0, 1];
const mostShown = 24;
/** Numbers of a point that are listed. */
const mostNumbers = 6;
const restMilliseconds = 300;

function numbersOf(point: Float32Array): string {
  const shown = Array.from(point.subarray(0, mostNumbers), (value) => String(Number(value.toPrecision(3))));
  return [...shown, ...(point.length > mostNumbers ? ['…'] : [])].join(' · ');
}

class DatasetLab extends LitElement {
  static override properties = {
    store: { attribute: false },
    embed: { type: Boolean },
    ...{ takeovers: { state: true }, tick: { state: true }, marked: { state: true } },
  };
  static override styles = [sharedStyles, panelStyles, labStyles, datasetStyles];

  declare store: Store;
  declare embed: boolean;
  declare tick: number;
  /** The class that takes over most often, of points that were looked at. */
  declare takeovers: ReadonlyMap<number, number | null>;
  /** The class whose line stands out, with its band. */
  declare marked: number | undefined;
  #session: DatasetSession | undefined;
  #unsubscribe: (() => void) | undefined;
  #resting = 0;
  /** Files opened so far. */
  #opened = 0;

  constructor() {
    super();
    this.embed = false;
    this.tick = 0;
    this.takeovers = new Map();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void import('probust/element');
    this.#session = new DatasetSession({
      changed: () => this.tick++,
      settled: (error) => this.#report(error),
    });
    this.updateComplete.then(() => {
      this.#unsubscribe = this.store.subscribe((state, before) => this.#changed(state, before));
      this.#session?.ask(this.store.state);
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unsubscribe?.();
    this.#session?.dispose();
    clearTimeout(this.#resting);
  }

  #report(error: unknown): void {
    this.dispatchEvent(new CustomEvent('problem', { detail: error, bubbles: true }));
  }

  #changed(state: Readonly<State>, before: Readonly<State>): void {
    if (
      ['dataSource', 'dataCount', 'dataSigma', 'dataSeed'].some((key) => state[key as keyof State] !== before[key as keyof State])
    ) {
      this.takeovers = new Map();
      clearTimeout(this.#resting);
      this.#resting = window.setTimeout(() => this.#session?.ask(this.store.state), restMilliseconds);
    }
    this.requestUpdate();
  }

  get #brush(): Brush {
    return this.store.state.brush as unknown as Brush;
  }

  get #selected(): Item[] {
    return (this.#session?.data?.items ?? []).filter((item) => isSelected(item, this.#brush));
  }

  async #look(shown: readonly Item[]): Promise<void> {
    try {
      const rows = shown.map(({ row }) => row);
      const found = await this.#session!.takeovers(rows, this.store.state);
      this.takeovers = new Map([...this.takeovers, ...found]);
    } catch (error) {
      this.#report(error);
    }
  }

  async #export(format: 'csv' | 'jsonl'): Promise<void> {
    const { writeRows } = await import('probust/data');
    const rows = this.#selected.map(({ row }) => row);
    saveText(writeRows(rows, format), `probust-selection.${format}`, format === 'csv' ? 'text/csv' : 'application/x-ndjson');
  }

  /** Takes a file from its button: rows, points or a network, told from its name. */
  #open(event: Event, role: 'first' | 'second'): void {
    const input = event.target as HTMLInputElement;
    const file = input.files?.[0];
    input.value = '';
    if (!file) return;
    this.takeovers = new Map();
    if (/\.onnx$/i.test(file.name)) this.#session!.openModel(file, this.store.state, role);
    else void this.#openData(file);
  }

  /** Rows of a run, or points. */
  async #openData(file: File): Promise<void> {
    const turn = ++this.#opened;
    try {
      const content = await contentOf(file);
      if (turn !== this.#opened) return;
      if (content === 'points') this.#session!.openPoints(file, this.store.state);
      else this.#session!.open(file, content);
    } catch (error) {
      this.#report(error);
    }
  }

  #controls() {
    const { dataSource, dataCount, dataSigma, dataSeed } = this.store.state;
    const { unit, generated } = sources[dataSource];
    const counts = [200, 500, 1000, 2000];
    return html`<div class="bar">
        ${dataSources.map(
          (each) =>
            html`<button
              class="chip"
              aria-pressed=${dataSource === each}
              @click=${() => this.store.set({ dataSource: each, guessed: -1 })}
            >
              ${sources[each].title}
            </button>`,
        )}
        ${
          generated
            ? html`${counts.map(
                  (count) =>
                    html`<button
                      class="chip"
                      aria-pressed=${dataCount === count}
                      @click=${() => this.store.set({ dataCount: count })}
                    >
                      ${count}
                    </button>`,
                )}
                <button class="chip" @click=${() => this.store.set({ dataSeed: (dataSeed + 1) % 10_000 })}>other digits</button>`
            : nothing
        }
        ${this.#opener('open points, a run or a network …', '.sqlite,.jsonl,.csv,.npy,.gz,.onnx', 'first')}
        ${this.#opener('compare with a network …', '.onnx', 'second')}
        ${this.#session!.own ? html`<button class="chip" @click=${() => this.#session!.reset(this.store.state)}>close the files</button>` : nothing}
      </div>
      <div class="sigma">
        ${sigmaSlider({ unit, low: 0.05, high: 1, value: dataSigma, set: (value) => this.store.set({ dataSigma: value }) })}
      </div>`;
  }

  #opener(words: string, accept: string, role: 'first' | 'second') {
    const open = (event: Event) => this.#open(event, role);
    return html`<label class="chip file"
      >${words} <input class="visually-hidden" type="file" accept=${accept} data-role=${role} @change=${open}
    /></label>`;
  }

  #distribution({ rows, compared, classNames }: Data) {
    // Other data may not have the class.
    const marked = byClass(rows).has(this.marked ?? -1) ? this.marked : undefined;
    return html`<section class="panel" id="distribution">
      <h2>p by class</h2>
      <p>
        How many points of a class have at most this p. Choose a class to see its 95% band.
        ${compared ? `Dashed: ${compared.name}.` : 'A second network, opened above, is added as dashed lines.'}
      </p>
      ${distributionFigure(rows, compared?.rows, marked)}
      ${distributionKeys(rows, classNames, marked, (of) => (this.marked = of === marked ? undefined : of))}
    </section>`;
  }

  #progress() {
    const { progress } = this.#session!;
    if (!progress) return nothing;
    const share = progress.planned > 0 ? progress.done / progress.planned : undefined;
    return html`<p class="small working">
      <progress aria-label="Estimating" value=${share ?? nothing}></progress>
      <button class="quiet" @click=${() => this.#session!.cancel()}>Cancel</button>
    </p>`;
  }

  #name(of: number): string {
    return this.#session!.data?.classNames?.[of] ?? String(of);
  }

  /** An image, or the point's numbers. */
  #point(index: number) {
    const { points } = this.#session!.data!;
    if (!points) return nothing;
    const { x, pointShape, words } = points;
    const size = pointShape.reduce((all, each) => all * each, 1);
    const point = x.subarray(index * size, (index + 1) * size);
    return pointShape.length > 1
      ? html`<probust-thumbnail .x=${point} .shape=${pointShape}></probust-thumbnail>`
      : html`<span class="small">${words?.[index] ?? numbersOf(point)}</span>`;
  }

  #thumbnail({ row }: Item) {
    const wrong = row.label !== null && row.label !== row.predicted;
    const rival = this.takeovers.get(row.index);
    return html`<li>
      ${guard([this.#session!.data, row.index], () => this.#point(row.index))}
      <b>${percentOf(row)}</b>
      <span class="small ${wrong ? 'wrong' : 'muted'}"
        >${this.#name(row.predicted)}${wrong ? `, should be ${this.#name(row.label!)}` : ''}</span
      >
      ${rival === undefined ? nothing : html`<span class="small muted">${rival === null ? 'none takes over' : `→ ${this.#name(rival)}`}</span>`}
    </li>`;
  }

  #selection() {
    const selected = this.#selected;
    const shown = [...selected].sort((a, b) => (a.row.p ?? 1) - (b.row.p ?? 1)).slice(0, mostShown);
    return html`<h2 aria-live="polite" data-selected=${selected.length}>
        ${selected.length} of ${this.#session!.data?.items.length ?? 0} selected
      </h2>
      <div class="bar">
        <button class="chip" @click=${() => this.store.set({ brush: [...fragile] })}>confident but fragile</button>
        <button class="chip" @click=${() => this.store.set({ brush: [...everything] })}>everything</button>
        <button class="chip" ?disabled=${selected.length === 0} @click=${() => this.#export('csv')}>CSV</button>
        <button class="chip" ?disabled=${selected.length === 0} @click=${() => this.#export('jsonl')}>JSONL</button>
        ${this.#session!.data?.points ? html`<button class="chip" ?disabled=${shown.length === 0} @click=${() => this.#look(shown)}>which classes take over?</button>` : nothing}
      </div>
      <ol class="thumbnails">
        ${shown.map((item) => this.#thumbnail(item))}
      </ol>
      ${selected.length > shown.length ? html`<p class="small muted">The ${shown.length} with the smallest p.</p>` : nothing}`;
  }

  #question({ rows, classNames }: Data) {
    const classes = [...new Set(rows.map(({ label, predicted }) => label ?? predicted))].sort((a, b) => a - b);
    const { guessed } = this.store.state;
    return html`<section class="panel">
      <h2>Which class is most fragile?</h2>
      ${
        guessed < 0
          ? html`<p>Say what you expect. The answer comes after that.</p>
              <div class="bar" role="group" aria-label="Which class is most fragile?">
                ${classes.map((of) => html`<button @click=${() => this.store.set({ guessed: of })}>${this.#name(of)}</button>`)}
              </div>`
          : html`<p>You said ${this.#name(guessed)}.</p>
              <probust-bias .rows=${rows} .classNames=${classNames}></probust-bias>
              <button class="quiet" @click=${() => this.store.set({ guessed: -1 })}>Ask again</button>`
      }
    </section>`;
  }

  #below() {
    const { data } = this.#session!;
    if (!data) return nothing;
    const { guessed } = this.store.state;
    return guard(
      [data, guessed, this.marked],
      () =>
        html`<div class="panels">
          ${this.#question(data)} ${guessed < 0 ? nothing : this.#distribution(data)}
          <section class="panel">
            <h2>Galleries</h2>
            <probust-gallery count="6" .rows=${data.rows} .points=${data.points} .classNames=${data.classNames}></probust-gallery>
          </section>
          <section class="panel">
            <h2>On average</h2>
            <probust-number .rows=${data.rows} .classNames=${data.classNames}></probust-number>
            <p class="source">
              p by class: section 4.4 of
              <cite>Han, Srinivas and Lakkaraju, Characterizing Data Point Vulnerability via Average-Case Robustness</cite>. A run
              of the command line opens here: <code>probust estimate MODEL DATA --sigma 0.3 -o run.sqlite</code>.
            </p>
          </section>
        </div>`,
    );
  }

  protected override render() {
    if (!this.#session) return nothing;
    const { data } = this.#session;
    return html`<div class="lab ${this.embed ? 'embedded' : ''}" data-points=${data?.items.length ?? 0}>
      <div class="first">
        <div class="stage">
          ${this.#controls()}
          <p class="small muted">${data?.about ?? 'Generating and estimating …'}</p>
          ${this.#progress()}
          <probust-scatter
            .items=${data?.items ?? []}
            .brush=${this.#brush}
            .palette=${paletteOf(this)}
            @brush=${({ detail }: CustomEvent<Brush>) => this.store.set({ brush: [...detail] })}
          ></probust-scatter>
          <p class="small muted">
            Each dot is a point; rings are answered wrongly. Draw a rectangle to select, or move its corners. At the lower right,
            the network is confident and the answer fragile.
          </p>
        </div>
        <div class="side">${this.#selection()}</div>
      </div>
      ${this.#below()}
    </div>`;
  }
}

if (!customElements.get('probust-dataset-lab')) customElements.define('probust-dataset-lab', DatasetLab);
