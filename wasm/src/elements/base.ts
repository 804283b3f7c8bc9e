// SPDX-License-Identifier: MIT
// What all components have in common: they take rows, or a model and points and compute the rows. New input replaces work that is
// not finished, so nothing outdated is ever shown as current.
import { html, LitElement, nothing, type PropertyValues } from 'lit';
import type { Probust } from '../api.js';
import { readData, readRows } from '../data.js';
import { usage } from '../errors.js';
import { Model } from '../model.js';
import type { ModelOptions, Row } from '../types.js';
import { noises, numbers, words } from './inputs.js';
import { take, type Lease } from './page.js';
import type { KnownPoints, ProbustComponent, RowsDetail } from './public.js';

/** What a component shows: rows, and the points that they are about, if these are known. */
export interface Answer {
  rows: readonly Row[];
  points?: KnownPoints;
  classNames?: readonly string[];
  /** The shape of one point. */
  shape?: readonly number[];
}

const inputs = [
  'model',
  'points',
  'x',
  'rows',
  'noise',
  'sigma',
  'estimators',
  'seed',
  'limit',
  'mean',
  'std',
  'classNames',
] as const;

/** `View` is what a component makes of the rows before it shows them. */
export abstract class ProbustElement<View> extends LitElement implements ProbustComponent {
  static override properties: Record<string, object> = {
    ...{ model: {}, points: {}, x: {}, rows: {}, noise: {}, sigma: {}, estimators: {}, mean: {}, std: {} },
    ...{ seed: { type: Number }, limit: { type: Number }, classNames: { attribute: 'class-names' } },
    ...{ view: { state: true }, problem: { state: true }, share: { state: true }, outdated: { state: true } },
  };

  declare model: ProbustComponent['model'];
  declare points: ProbustComponent['points'];
  declare x: ProbustComponent['x'];
  declare rows: ProbustComponent['rows'];
  declare noise: ProbustComponent['noise'];
  declare sigma: ProbustComponent['sigma'];
  declare estimators: ProbustComponent['estimators'];
  declare seed: ProbustComponent['seed'];
  declare limit: ProbustComponent['limit'];
  declare mean: ProbustComponent['mean'];
  declare std: ProbustComponent['std'];
  declare classNames: ProbustComponent['classNames'];

  declare protected view: View | undefined;
  declare private problem: string | undefined;
  declare private share: number | undefined;
  declare private outdated: boolean;
  #lease: Lease | undefined;
  #controller: AbortController | undefined;

  constructor() {
    super();
    this.noise = 'gaussian';
    this.estimators = 'auto';
    this.seed = 0;
    this.outdated = false;
  }

  /** What to show of an answer. */
  protected abstract present(answer: Answer, probust: () => Promise<Probust>): Promise<View>;
  protected abstract show(view: View): unknown;

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.hasUpdated) this.#restart();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#controller?.abort();
    this.#lease?.release();
    this.#lease = undefined;
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (!this.hasUpdated || inputs.some((name) => changed.has(name))) this.#restart();
  }

  protected override render(): unknown {
    if (this.problem !== undefined) return html`<p class="state error" part="error" role="alert">${this.problem}</p>`;
    if (this.view === undefined && !this.outdated) return html`<p class="state" part="empty">${this.#missing()}</p>`;
    return html`<div aria-busy=${this.outdated}>
      ${this.outdated ? html`<progress part="progress" aria-label="Computing" .value=${this.share ?? nothing}></progress>` : nothing}
      ${
        this.view === undefined
          ? html`<p class="state" part="loading">Computing …</p>`
          : html`<div class=${this.outdated ? 'outdated' : ''}>${this.show(this.view)}</div>`
      }
    </div>`;
  }

  protected emit(name: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(`probust-${name}`, { detail, bubbles: true, composed: true }));
  }

  #missing(): string | undefined {
    if (this.rows !== undefined) return undefined;
    if (this.model === undefined) return 'No model or rows yet.';
    return this.points === undefined && this.x === undefined ? 'No points yet.' : undefined;
  }

  #restart(): void {
    this.#controller?.abort();
    this.problem = undefined;
    this.share = undefined;
    this.outdated = this.#missing() === undefined && this.isConnected;
    if (!this.outdated) return void (this.view = undefined);
    const controller = (this.#controller = new AbortController());
    this.#work(controller.signal).catch((error: unknown) => {
      if (controller.signal.aborted) return;
      this.view = undefined;
      this.outdated = false;
      this.problem = error instanceof Error ? error.message : String(error);
      this.emit('error', { error });
    });
  }

  async #work(signal: AbortSignal): Promise<void> {
    const lease = (this.#lease ??= take());
    const answer = await (this.rows === undefined ? this.#estimated(lease, signal) : this.#given(this.rows, signal));
    const view = await this.present(answer, () => lease.probust());
    if (signal.aborted) return;
    this.view = view;
    this.outdated = false;
    this.emit('rows', { rows: answer.rows } satisfies RowsDetail);
  }

  async #given(rows: string | readonly Row[], signal: AbortSignal): Promise<Answer> {
    const points = this.points === undefined ? undefined : await this.#read(signal);
    return described(typeof rows === 'string' ? await readRows(rows, signal) : rows, points, this.#names());
  }

  async #estimated(lease: Lease, signal: AbortSignal): Promise<Answer> {
    const texts = noises(this.noise, this.sigma);
    const source = this.model!;
    const points = await this.#read(signal);
    const model = source instanceof Model ? source : await lease.model(source, this.#modelOptions());
    const rows = await model.estimate(points.x, {
      ...(points.labels && { labels: points.labels }),
      noise: texts,
      estimators: words(this.estimators),
      seed: this.seed,
      index: points.index ?? 0,
      signal,
      onProgress: ({ passes, planned }) => {
        if (!signal.aborted) this.share = planned > 0 ? passes / planned : undefined;
        this.emit('progress', { passes, planned });
      },
    });
    const { classNames = this.#names(), pointShape } = model.info;
    return described(rows, { pointShape, ...points }, classNames);
  }

  async #read(signal: AbortSignal): Promise<KnownPoints> {
    if (this.points === undefined) return { x: Float32Array.from(typeof this.x === 'string' ? numbers('x', this.x) : this.x!) };
    if (typeof this.points === 'string') return readData(this.points, { signal, limit: this.limit });
    if (Array.isArray(this.points) || ArrayBuffer.isView(this.points)) return { x: Float32Array.from(this.points as number[]) };
    if ('x' in this.points) return this.points;
    throw usage('points: are no numbers', 'give an address, numbers, or { x, labels } from probust/data');
  }

  #names(): readonly string[] | undefined {
    return this.classNames === undefined ? undefined : words(this.classNames);
  }

  #modelOptions(): ModelOptions {
    const list = (which: 'mean' | 'std') => {
      const value = this[which];
      return value === undefined ? {} : { [which]: typeof value === 'string' ? numbers(which, value) : value };
    };
    return { ...list('mean'), ...list('std') };
  }
}

function described(rows: readonly Row[], points: KnownPoints | undefined, names: readonly string[] | undefined): Answer {
  const classNames = names ?? points?.classNames;
  return {
    rows,
    ...(points && { points }),
    ...(points?.pointShape && { shape: points.pointShape }),
    ...(classNames && { classNames }),
  };
}

/** A class as people call it. */
export const className = (answer: { classNames?: readonly string[] }, label: number): string =>
  answer.classNames?.[label] ?? String(label);
