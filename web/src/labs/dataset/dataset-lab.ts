// SPDX-License-Identifier: MIT
// The data-set lab: many labelled points, p against softmax, and which classes are fragile.
import { html, LitElement, nothing } from 'lit';
import { guard } from 'lit/directives/guard.js';
import type { Row } from 'probust';
import { paletteOf } from '../../draw/palette.js';
import { panelStyles } from '../../panels/panel.js';
import { saveText } from '../../panels/save.js';
import { dataSources, type State } from '../../state/state.js';
import type { Store } from '../../state/store.js';
import { sharedStyles } from '../../style/shared.js';
import { sigmaSlider } from '../controls.js';
import { labStyles } from '../styles.js';
import { isSelected, type Brush } from './scatter.js';
import { byClass, distributionFigure, distributionKeys } from './distribution.js';
import { accuracies, fragileReply } from './fragile.js';
import { card, nameIn, pointDetail } from './point.js';
import { contentOf, DatasetSession, takeoverCopies, type Data, type Item } from './session.js';
import { sources } from './sources.js';
import { datasetStyles } from './styles.js';

const fragile: Brush = [0, 0.6, 0.9, 1];
const everything: Brush = [0, 1, 0, 1];
const mostShown = 24;
const restMilliseconds = 300;

class DatasetLab extends LitElement {
  static override properties = {
    store: { attribute: false },
    embed: { type: Boolean },
    ...{ takeovers: { state: true }, tick: { state: true }, marked: { state: true } },
    chosen: { state: true },
  };
  static override styles = [sharedStyles, panelStyles, labStyles, datasetStyles];

  declare store: Store;
  declare embed: boolean;
  declare tick: number;
  /** For each point that was examined: the class that most of its failing samples get. */
  declare takeovers: ReadonlyMap<number, number | null>;
  /** The class whose line is highlighted and shown with its band. */
  declare marked: number | undefined;
  /** The index of the point that is shown in detail. */
  declare chosen: number | undefined;
  #session: DatasetSession | undefined;
  #unsubscribe: (() => void) | undefined;
  /** The timer of the pause before work begins; undefined if there is no pause. */
  #resting: number | undefined;
  /** The number of files opened so far. */
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
    this.#resting = undefined;
  }

  #report(error: unknown): void {
    this.dispatchEvent(new CustomEvent('problem', { detail: error, bubbles: true }));
  }

  #changed(state: Readonly<State>, before: Readonly<State>): void {
    const other = (['dataSource', 'dataCount', 'dataSeed'] as const).some((key) => state[key] !== before[key]);
    if (other) this.chosen = undefined;
    if (other || state.dataSigma !== before.dataSigma) {
      this.takeovers = new Map();
      clearTimeout(this.#resting);
      this.#resting = window.setTimeout(() => this.#ask(), restMilliseconds);
    }
    this.requestUpdate();
  }

  #ask(): void {
    this.#resting = undefined;
    this.#session?.ask(this.store.state);
    this.requestUpdate();
  }

  get #brush(): Brush {
    return this.store.state.brush as unknown as Brush;
  }

  get #selected(): Item[] {
    return (this.#session?.data?.items ?? []).filter((item) => isSelected(item, this.#brush));
  }

  /** Shows the point's details and rings its dot; if they are already shown, hides them. */
  async #choose(index: number): Promise<void> {
    this.chosen = index === this.chosen ? undefined : index;
    await this.updateComplete;
    if (this.chosen !== undefined) this.renderRoot.querySelector('.plot')!.scrollIntoView({ block: 'nearest' });
  }

  /** The pressed button disappears, so the focus moves to the element that replaces it. */
  async #guess(guessed: number): Promise<void> {
    this.store.set({ guessed });
    await this.updateComplete;
    this.renderRoot.querySelector<HTMLElement>('.reply, .guesses button')!.focus();
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

  /** Opens a file with rows, points or a network, which is recognised by its name. */
  #open(event: Event, role: 'first' | 'second'): void {
    const input = event.target as HTMLInputElement;
    const file = input.files?.[0];
    input.value = '';
    if (!file) return;
    this.takeovers = new Map();
    this.chosen = undefined;
    if (/\.onnx$/i.test(file.name)) this.#session!.openModel(file, this.store.state, role);
    else void this.#openData(file);
  }

  /** Opens a file with rows or with points. */
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
        ${this.#opener('compare another network …', '.onnx', 'second')}
        ${this.#session!.own ? html`<button class="chip" @click=${() => this.#session!.reset(this.store.state)}>close the files</button>` : nothing}
      </div>
      <div class="sigma">
        ${sigmaSlider({ unit, low: 0.05, high: 1, value: dataSigma, set: (value) => this.store.set({ dataSigma: value }) })}
        ${this.#status()}
      </div>`;
  }

  #opener(words: string, accept: string, role: 'first' | 'second') {
    const open = (event: Event) => this.#open(event, role);
    return html`<label class="chip file"
      >${words} <input class="visually-hidden" type="file" accept=${accept} data-role=${role} @change=${open}
    /></label>`;
  }

  #distribution({ rows, compared, classNames }: Data) {
    // The new data may not contain the class.
    const marked = byClass(rows).has(this.marked ?? -1) ? this.marked : undefined;
    return html`<section class="panel" id="distribution">
      <h2>p by class</h2>
      <p>
        For each class, the share of its points whose p is at most the value on the axis. Choose a class to see the 95% band of
        its line. Each band is for one class only.
        ${compared ? `Dashed: ${compared.name}.` : 'Open another network above to compare it, as dashed lines.'}
      </p>
      ${distributionFigure(rows, compared?.rows, marked)}
      ${distributionKeys(rows, classNames, marked, (of) => (this.marked = of === marked ? undefined : of))}
    </section>`;
  }

  get #working(): boolean {
    return this.#resting !== undefined || this.#session!.progress !== undefined;
  }

  get #stale(): boolean {
    return this.#working || this.#session!.isStale(this.store.state);
  }

  /** A line about the progress, which is shown while the results do not match the settings. */
  #status() {
    const { progress, data } = this.#session!;
    if (!this.#stale && data) return nothing;
    if (!this.#working) {
      return html`<p class="small working">
        ${data ? 'Stopped: these results are for other settings.' : 'Stopped: there are no results yet.'}
        <button class="quiet" @click=${() => this.#ask()}>Compute</button>
      </p>`;
    }
    const share = progress && progress.planned > 0 ? progress.done / progress.planned : undefined;
    return html`<p class="small working">
      <span role="status">${data ? 'Computing new results …' : 'Computing …'}</span>
      <progress aria-label="Computing" value=${share ?? nothing}></progress>
      <button class="quiet" @click=${() => this.#session!.cancel()}>Cancel</button>
    </p>`;
  }

  #card(data: Data, item: Item, rival?: number | null) {
    const { index } = item.row;
    return card(data, item, { chosen: index === this.chosen, choose: () => void this.#choose(index), rival });
  }

  #selection(data: Data) {
    const selected = this.#selected;
    const shown = [...selected].sort((a, b) => (a.row.p ?? 1) - (b.row.p ?? 1)).slice(0, mostShown);
    const none = selected.length === 0;
    return html`<h2 aria-live="polite" data-selected=${selected.length}>
        ${selected.length} of ${data.items.length} points selected
      </h2>
      <div class="bar">
        <button class="chip" @click=${() => this.store.set({ brush: [...fragile] })}>confident but fragile</button>
        <button class="chip" @click=${() => this.store.set({ brush: [...everything] })}>everything</button>
        <button class="chip" ?disabled=${none} @click=${() => this.#export('csv')}>save as CSV</button>
        <button class="chip" ?disabled=${none} @click=${() => this.#export('jsonl')}>save as JSONL</button>
        ${data.points ? html`<button class="chip" ?disabled=${none || this.#stale} @click=${() => this.#look(shown)}>which classes take over?</button>` : nothing}
      </div>
      <p class="small muted">${this.#selectionWords(data, shown.length, selected.length)}</p>
      <ol class="thumbnails">
        ${shown.map((item) => this.#card(data, item, this.takeovers.get(item.row.index)))}
      </ol>`;
  }

  #selectionWords(data: Data, shown: number, selected: number): string {
    if (selected === 0)
      return `Select points first: then you can save them${data.points ? ', or see which classes take over' : ''}.`;
    const listed = selected > shown ? `The ${shown} with the smallest p are listed.` : '';
    const arrow = `An arrow points to the class that most of the failing samples get, out of ${takeoverCopies} noisy samples.`;
    return this.takeovers.size > 0 ? `${listed} ${arrow}` : listed;
  }

  #question({ rows, bias }: Data, name: (of: number) => string) {
    const classes = [...new Set(rows.map(({ label, predicted }) => label ?? predicted))].sort((a, b) => a - b);
    const { guessed } = this.store.state;
    return html`<section class="panel">
      <h2>Which class is most fragile?</h2>
      ${
        guessed < 0
          ? html`<p>Guess first, then see the result.</p>
              <div class="bar guesses" role="group" aria-label="Which class is most fragile?">
                ${classes.map((of) => html`<button @click=${() => this.#guess(of)}>${name(of)}</button>`)}
              </div>`
          : html`${fragileReply(bias, guessed, name)} <button class="quiet" @click=${() => this.#guess(-1)}>Ask again</button>`
      }
    </section>`;
  }

  #ranked(data: Data) {
    const items = new Map(data.items.map((item) => [item.row.index, item]));
    const list = (title: string, rows: readonly Row[]) =>
      html`<h2>${title}</h2>
        <ol class="thumbnails">
          ${rows.map(({ index }) => this.#card(data, items.get(index)!))}
        </ol>`;
    return html`<section class="panel" id="ranking">
      ${list('Least robust', data.ranking.least)} ${list('Most robust', data.ranking.most)}
    </section>`;
  }

  #below(data: Data) {
    const { guessed, theme } = this.store.state;
    return guard(
      [data, guessed, theme, this.marked, this.chosen],
      () =>
        html`${this.#question(data, nameIn(data))} ${guessed < 0 ? nothing : this.#distribution(data)} ${this.#ranked(data)}
          <section class="panel">
            <h2>On average</h2>
            <probust-number .theme=${theme} .rows=${data.rows} .classNames=${data.classNames}></probust-number>
            ${accuracies(data.rows)}
            <p class="source">
              p by class: section 4.4 of
              <cite>Han, Srinivas and Lakkaraju, Characterizing Data Point Vulnerability via Average-Case Robustness</cite>. You
              can open a run of the command line above: <code>probust estimate MODEL DATA --sigma 0.3 -o run.sqlite</code>.
            </p>
          </section>`,
    );
  }

  #plot(data: Data | undefined) {
    const chosen = data?.items.find(({ row }) => row.index === this.chosen);
    return html`<p class="small muted">${data?.about}</p>
      ${data?.warnings.map((warning) => html`<p class="small warning" role="note">Something may be wrong: ${warning}.</p>`)}
      <probust-scatter
        .items=${data?.items ?? []}
        .brush=${this.#brush}
        .chosen=${this.chosen}
        .palette=${paletteOf(this)}
        @brush=${({ detail }: CustomEvent<Brush>) => this.store.set({ brush: [...detail] })}
        @choose=${({ detail }: CustomEvent<number>) => this.#choose(detail)}
      ></probust-scatter>
      <div aria-live="polite">${chosen ? pointDetail(data!, chosen, () => (this.chosen = undefined)) : nothing}</div>`;
  }

  protected override render() {
    if (!this.#session) return nothing;
    const { data } = this.#session;
    const look = this.#stale ? 'stale' : '';
    return html`<div
      class="lab ${this.embed ? 'embedded' : ''}"
      data-points=${data?.items.length ?? 0}
      aria-busy=${this.#working}
    >
      <div class="first">
        <div class="stage">
          ${this.#controls()}
          <div class="plot ${look}">${this.#plot(data)}</div>
          <p class="small muted">
            Each dot is a point; an open circle is a point that the network gets wrong. At the lower right the network is
            confident but its prediction is fragile. To select points, move the corners of the rectangle, or draw a new one with a
            mouse or pen. Press a dot to see its point.
          </p>
        </div>
        <div class="side ${look}">${data ? this.#selection(data) : nothing}</div>
      </div>
      <div class="panels ${look}">${data ? this.#below(data) : nothing}</div>
    </div>`;
  }
}

if (!customElements.get('probust-dataset-lab')) customElements.define('probust-dataset-lab', DatasetLab);
