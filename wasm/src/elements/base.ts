// SPDX-License-Identifier: MIT
// The base class of all components: they are given rows, or compute them for a model and points. New input cancels unfinished
// work, so outdated results are never shown as current.
import { html, LitElement, nothing, type PropertyValues } from 'lit';
import type { Probust } from '../api.js';
import type { Model } from '../model.js';
import type { ModelOptions, ModelSource, Row } from '../types.js';
import { checkedRows } from '../data/rows.js';
import { equal, listOf, noises, numbers, plain, words } from './inputs.js';
import { take, type Share } from './page.js';
import type { KnownPoints, ProbustComponent, RowsDetail } from './public.js';

/** The content of a component: rows and, if known, their points. */
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
  'modelOptions',
  'estimateOptions',
  'classNames',
] as const;

/**
 * Declares an input. Inputs are compared by content, because the templates of frameworks create new, equal objects on each
 * rendering.
 */
const input = (more: object = {}): object => ({ hasChanged: (now: unknown, before: unknown) => !equal(now, before), ...more });

const defaults = { noise: 'gaussian', estimators: 'auto' };

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code;

/** Whether the source is a loaded model, possibly of another instance of the library. */
const isLoaded = (source: ModelSource | Model): source is Model =>
  typeof source === 'object' && 'estimate' in source && typeof source.estimate === 'function';

/** A component whose `View` is computed from the rows and then rendered. */
export abstract class ProbustElement<View> extends LitElement implements ProbustComponent {
  static override properties: Record<string, object> = {
    ...{ model: input(), points: input(), x: input(), rows: input(), noise: input(), sigma: input(), estimators: input() },
    ...{ seed: input({ type: Number }), limit: input({ type: Number }), classNames: input({ attribute: 'class-names' }) },
    ...{ mean: input(), std: input(), modelOptions: input({ attribute: false }), estimateOptions: input({ attribute: false }) },
    theme: { reflect: true },
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
  declare modelOptions: ProbustComponent['modelOptions'];
  declare estimateOptions: ProbustComponent['estimateOptions'];
  declare theme: ProbustComponent['theme'];
  declare classNames: ProbustComponent['classNames'];

  declare protected view: View | undefined;
  declare private problem: string | undefined;
  declare private share: number | undefined;
  declare private outdated: boolean;
  #page: Share | undefined;
  #controller: AbortController | undefined;

  constructor() {
    super();
    this.outdated = false;
  }

  /** Computes the view. `show` then renders it. */
  protected abstract present(answer: Answer, probust: () => Promise<Probust>): Promise<View>;
  protected abstract show(view: View): unknown;
  /** The names of other properties on which the view depends. */
  protected readonly more: readonly string[] = [];

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.hasUpdated) this.#restart();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#controller?.abort();
    this.#page?.release();
    this.#page = undefined;
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (!this.hasUpdated || [...inputs, ...this.more].some((name) => changed.has(name))) this.#restart();
  }

  protected override render(): unknown {
    if (this.problem !== undefined) return html`<p class="state error" part="error" role="alert">${this.problem}</p>`;
    if (this.view === undefined && !this.outdated) return html`<p class="state" part="empty">${this.#missing()}</p>`;
    return html`<div aria-busy=${this.outdated}>
      ${this.outdated ? html`<progress part="progress" aria-label="Computing" value=${this.share ?? nothing}></progress>` : nothing}
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
    if (this.rows != null && this.rows !== '') return this.rows.length === 0 ? 'No rows yet.' : undefined;
    if (this.model == null || this.model === '') return 'No model or rows yet.';
    return this.points == null && this.x == null ? 'No points yet.' : undefined;
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
      // The workers may have stopped; the next request starts new ones.
      if (codeOf(error) === 'environment') this.#page?.renew();
      this.view = undefined;
      this.outdated = false;
      this.problem = error instanceof Error ? error.message : String(error);
      this.emit('error', { error });
    });
  }

  async #work(signal: AbortSignal): Promise<void> {
    const page = (this.#page ??= take());
    const answer = await (this.rows == null || this.rows === '' ? this.#estimated(page, signal) : this.#given(page, this.rows));
    signal.throwIfAborted();
    const view = await this.present(answer, () => page.probust());
    if (signal.aborted) return;
    this.view = view;
    this.outdated = false;
    this.emit('rows', { rows: answer.rows } satisfies RowsDetail);
  }

  async #given(page: Share, rows: string | readonly Row[]): Promise<Answer> {
    const points = this.points == null ? undefined : await this.#read(page);
    return described(typeof rows === 'string' ? await page.rows(rows) : checkedRows(rows, 'rows'), points, this.#names());
  }

  async #estimated(page: Share, signal: AbortSignal): Promise<Answer> {
    const texts = noises(this.noise ?? defaults.noise, this.sigma);
    const source = this.model!;
    const points = await this.#read(page);
    const model = isLoaded(source) ? source : await page.model(source, this.#modelOptions());
    const options = this.estimateOptions == null ? {} : plain(this.estimateOptions);
    signal.throwIfAborted();
    const rows = await model.estimate(points.x, {
      ...options,
      ...(points.labels && { labels: points.labels }),
      noise: texts,
      estimators: words('estimators', this.estimators ?? defaults.estimators),
      seed: this.seed ?? 0,
      index: points.index ?? 0,
      signal,
      onProgress: ({ passes, planned }) => {
        if (signal.aborted) return;
        this.share = planned > 0 ? passes / planned : undefined;
        this.emit('progress', { passes, planned });
      },
    });
    const { classNames = this.#names(), pointShape } = model.info;
    const shape = points.pointShape && points.pointShape.length > 1 ? points.pointShape : pointShape;
    return described(rows, { ...points, pointShape: shape }, classNames);
  }

  async #read(page: Share): Promise<KnownPoints> {
    const { points } = this;
    if (points == null) return { x: typeof this.x === 'string' ? Float32Array.from(numbers('x', this.x)) : listOf('x', this.x) };
    if (typeof points === 'string') return page.points(points, this.limit ?? undefined);
    if (typeof points !== 'object' || !('x' in points)) return { x: listOf('points', points) };
    return { ...plain(points), x: listOf('points', points.x) };
  }

  #names(): readonly string[] | undefined {
    return this.classNames == null ? undefined : words('classNames', this.classNames);
  }

  #modelOptions(): ModelOptions {
    const list = (which: 'mean' | 'std') => {
      const value = this[which];
      return value == null
        ? {}
        : { [which]: typeof value === 'string' ? numbers(which, value) : Array.from(listOf(which, value)) };
    };
    return { ...(this.modelOptions == null ? {} : plain(this.modelOptions)), ...list('mean'), ...list('std') };
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

/** The name of a class. */
export const className = (answer: { classNames?: readonly string[] }, label: number): string =>
  answer.classNames?.[label] ?? String(label);
