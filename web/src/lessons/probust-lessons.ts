// SPDX-License-Identifier: MIT
// <probust-lessons>: the list of lessons, or one lesson: its text and task on the left, the explorer on the right. The address
// contains the lesson and the step, so that a teacher can link to them.
import { html, LitElement, nothing } from 'lit';
import type { ProbustExplorerElement } from '../element/public.js';
import { messageOf } from '../element/messages.js';
import { initial, type State } from '../state/state.js';
import { sharedStyles } from '../style/shared.js';
import { themeStyles } from '../style/theme.js';
import type { Action, Lesson, Step, Task, Truth } from './lesson.js';
import { lessons } from './lessons.js';
import { firstLine, type Ends } from './line.js';
import { lessonStyles } from './styles.js';
import '../element/define.js';
import './line.js';

interface Place {
  lesson: number;
  step: number;
}

/** A step with a task, as the reader left it. */
interface Left {
  answer: string | undefined;
  /** A key of everything that the answer depends on. */
  about: string;
  given: number[];
  typed: string[];
  line: Ends;
  explorer: State;
}

/** The place in an address such as #lesson=2&step=3; undefined for the list. */
function placeOf(hash: string): Place | undefined {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const lesson = Number(given.get('lesson')) - 1;
  const step = Number(given.get('step') ?? 1) - 1;
  return lessons[lesson]?.steps[step] ? { lesson, step } : undefined;
}

/** The number in a text such as "40", "40 %" or "40,5"; NaN if the text is not a number. */
const percentIn = (text: string): number => {
  const digits = text.replace('%', '').replace(',', '.').trim();
  return digits === '' ? NaN : Number(digits);
};

const isWithin = (value: number | undefined, most: number): boolean => value !== undefined && value >= 0 && value <= most;

const addressOf = ({ lesson, step }: Place): string => `#lesson=${lesson + 1}&step=${step + 1}`;

export class ProbustLessons extends LitElement {
  static override properties = {
    ...{
      place: { state: true },
      answer: { state: true },
      busy: { state: true },
      given: { state: true },
      typed: { state: true },
      line: { state: true },
    },
  };
  static override styles = [themeStyles, sharedStyles, lessonStyles];

  declare place: Place | undefined;
  /** The reply to the task; empty if something has changed since, undefined before the task is answered. */
  declare answer: string | undefined;
  declare busy: boolean;
  /** The index of the chosen answer, or the numbers in `typed`; NaN for text that is not a number. */
  declare given: number[];
  declare typed: string[];
  declare line: Ends;
  #truth: Truth | undefined;
  #about = '';
  readonly #left = new Map<string, Left>();
  readonly #observer = new ResizeObserver(() => this.#cover());

  constructor() {
    super();
    this.#begin(placeOf(location.hash));
  }

  readonly #read = (): void => this.#begin(placeOf(location.hash));

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener('hashchange', this.#read);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener('hashchange', this.#read);
    this.#observer.disconnect();
  }

  get #lesson(): Lesson | undefined {
    return this.place && lessons[this.place.lesson];
  }

  get #step(): Step | undefined {
    return this.place && this.#lesson!.steps[this.place.step];
  }

  get #explorer(): ProbustExplorerElement | null {
    return this.renderRoot?.querySelector('probust-explorer') ?? null;
  }

  #begin(place: Place | undefined): void {
    this.#leave();
    const left = place && this.#left.get(addressOf(place));
    this.place = place;
    this.answer = left?.answer;
    this.busy = false;
    this.given = left?.given ?? [];
    this.typed = left?.typed ?? [];
    this.line = left?.line ?? firstLine;
    this.#about = left?.about ?? '';
    void this.updateComplete.then(() => this.#show(left?.explorer));
  }

  /** Saves the guess and the reply, so that they are restored when the reader comes back to the step. */
  #leave(): void {
    const { place, answer, given, typed, line } = this;
    const explorer = this.#explorer?.state;
    if (!place || !explorer || !this.#step!.task) return;
    this.#left.set(addressOf(place), { answer, about: this.#about, given, typed, line, explorer });
  }

  /** Sets the explorer to the initial state of the step, or to the state in which the reader left it. */
  #show(left?: State): void {
    const [step, explorer] = [this.#step, this.#explorer];
    if (!step || !explorer) return;
    const { theme } = explorer.state;
    const state: Partial<State> = left ? { ...left, theme } : { ...initial, ...step.state, theme, panels: [...step.panels] };
    explorer.state = state;
    this.#observer.disconnect();
    this.#observer.observe(this.renderRoot.querySelector('.stage')!);
    this.renderRoot.querySelector<HTMLElement>('h2')?.focus({ preventScroll: true });
    scrollTo({ top: 0 });
  }

  /** Places the line over the picture. */
  #cover(): void {
    const line = this.renderRoot.querySelector<HTMLElement>('probust-lesson-line');
    const lab = this.#explorer?.shadowRoot?.querySelector('probust-plane-lab');
    const picture = lab?.shadowRoot?.querySelector('probust-plane-picture')?.getBoundingClientRect();
    if (!line || !picture) return;
    const stage = this.renderRoot.querySelector('.stage')!.getBoundingClientRect();
    const pixels = {
      left: picture.left - stage.left,
      top: picture.top - stage.top,
      width: picture.width,
      height: picture.height,
    };
    for (const [name, value] of Object.entries(pixels)) line.style.setProperty(name, `${value}px`);
  }

  #result({ detail }: CustomEvent<Truth>): void {
    this.#truth = detail;
    this.#cover();
  }

  /** The key of everything that an answer depends on. */
  #asked(): string {
    const { x, sigma, seed, model } = this.#explorer!.state;
    // The buttons define the two points of a choice, so the current point does not matter.
    const place = this.#step!.task?.kind === 'choice' ? [] : [x, seed];
    return JSON.stringify([place, sigma, model, this.line, this.given]);
  }

  /** Withdraws a reply that no longer matches what is on screen. */
  #changed(): void {
    if (this.answer && this.#asked() !== this.#about) this.answer = '';
  }

  async #reveal(task: Task): Promise<void> {
    const { place, given } = this;
    this.#about = this.#asked();
    const seen = { truth: this.#truth, state: this.#explorer!.state, line: this.line };
    this.busy = true;
    const reply = await Promise.resolve(task.reply(given, seen)).catch(messageOf);
    if (this.place !== place) return;
    this.busy = false;
    this.answer = reply;
    const { revealed = this.#step!.panels, reveals } = this.#step!;
    const { show } = this.#explorer!.state;
    this.#explorer!.state = { panels: [...revealed], show: [...new Set([...show, 'tint' as const])], ...reveals };
    this.#changed();
    requestAnimationFrame(() => this.#cover());
  }

  #drawn(line: Ends): void {
    this.line = line;
    this.#changed();
  }

  #act({ change }: Action): void {
    const explorer = this.#explorer!;
    explorer.state = change(explorer.state);
  }

  #choices(task: Extract<Task, { kind: 'choice' }>) {
    const choose = (i: number) => {
      this.given = [i];
      this.#changed();
    };
    return html`<div class="choices" role="radiogroup" aria-label=${task.ask}>
      ${task.options.map(
        (option, i) =>
          html`<label
            ><input type="radio" name="choice" .checked=${this.given[0] === i} @change=${() => choose(i)} />${option}</label
          >`,
      )}
    </div>`;
  }

  #fields(task: Extract<Task, { kind: 'guess' }>) {
    const set = (i: number, text: string) => {
      const typed = [...this.typed];
      typed[i] = text;
      this.typed = typed;
      this.given = typed.map(percentIn);
      this.#changed();
    };
    return html`<div class="guesses">
      ${task.fields.map(
        (field, i) =>
          html`<label
            >${field}
            <input
              type="text"
              inputmode="decimal"
              size="5"
              .value=${this.typed[i] ?? ''}
              @input=${(event: Event) => set(i, (event.target as HTMLInputElement).value)}
            />
            %</label
          >`,
      )}
    </div>`;
  }

  #ready(task: Task): boolean {
    if (task.kind === 'choice') return this.given.length === 1;
    if (task.kind === 'guess') return task.fields.every((_, i) => isWithin(this.given[i], task.most));
    return true;
  }

  /** The message for an invalid number. */
  #hint(task: Task) {
    const wrong =
      task.kind === 'guess' && this.typed.some((text, i) => text.trim() !== '' && !isWithin(this.given[i], task.most));
    return wrong ? html`<p class="hint" role="status">Enter a number from 0 to ${task.most}, such as 40.</p>` : nothing;
  }

  #reply(): string {
    if (this.busy) return 'Computing …';
    return this.answer === '' ? 'Something changed since the last comparison: compare again.' : (this.answer ?? '');
  }

  #task(task: Task) {
    return html`<form
      class="task"
      @submit=${(event: Event) => {
        event.preventDefault();
        if (this.#ready(task) && !this.busy) void this.#reveal(task);
      }}
    >
      <p class="ask">${task.ask}</p>
      ${task.kind === 'choice' ? this.#choices(task) : task.kind === 'guess' ? this.#fields(task) : nothing} ${this.#hint(task)}
      <button class="primary" ?disabled=${!this.#ready(task) || this.busy}>
        ${this.answer === undefined ? 'Reveal' : 'Compare again'}
      </button>
      <p class="reply" role="status">${this.#reply()}</p>
    </form>`;
  }

  #navigation({ lesson, step }: Place) {
    const { steps } = lessons[lesson]!;
    const before = step > 0 ? addressOf({ lesson, step: step - 1 }) : undefined;
    const next = step + 1 < steps.length ? addressOf({ lesson, step: step + 1 }) : undefined;
    const following = lessons[lesson + 1];
    const waits = steps[step]!.task !== undefined && this.answer === undefined;
    return html`<nav aria-label="Steps">
      ${before ? html`<a href=${before}>Back</a>` : html`<a href="#">All lessons</a>`}
      <span class="muted small">step ${step + 1} of ${steps.length}</span>
      ${next ? html`<a class=${waits ? 'next' : 'next primary'} href=${next}>${waits ? 'Skip' : 'Next'}</a>` : nothing}
      ${!next && following ? html`<a class="next primary" href=${addressOf({ lesson: lesson + 1, step: 0 })}>${following.title}</a>` : nothing}
      ${!next && !following ? html`<a class="next primary" href="./index.html">The explorer</a>` : nothing}
    </nav>`;
  }

  #list() {
    return html`<h1>Five short lessons</h1>
      <p class="lead">
        Each takes about five minutes. You guess first, then you see the number. There are notes for teachers
        <a href="./teachers.html">on their own page</a>.
      </p>
      <ol class="lessons">
        ${lessons.map(
          ({ title, question }, lesson) =>
            html`<li>
              <a href=${addressOf({ lesson, step: 0 })}>${title}</a>
              <p class="muted">${question}</p>
            </li>`,
        )}
      </ol>
      <p><a href="./index.html">Or explore freely.</a></p>`;
  }

  protected override render() {
    const { place } = this;
    if (!place) return this.#list();
    const [lesson, step] = [this.#lesson!, this.#step!];
    return html`<div class="lesson">
      <div class="text">
        <p class="small"><a href="#">Lessons</a> · ${place.lesson + 1}. ${lesson.title}</p>
        <h2 tabindex="-1">${step.title}</h2>
        ${step.text}
        ${step.actions ? html`<div class="actions">${step.actions.map((action) => html`<button @click=${() => this.#act(action)}>${action.label}</button>`)}</div>` : nothing}
        ${step.task ? this.#task(step.task) : nothing} ${this.#navigation(place)}
      </div>
      <div class="stage">
        <probust-explorer
          embed
          brief
          ?secret=${step.secret ?? (step.task !== undefined && this.answer === undefined)}
          @statechange=${() => this.#changed()}
          @result=${(event: CustomEvent<Truth>) => this.#result(event)}
        ></probust-explorer>
        ${step.task?.kind === 'line' ? html`<probust-lesson-line .ends=${this.line} @line=${({ detail }: CustomEvent<Ends>) => this.#drawn(detail)}></probust-lesson-line>` : nothing}
      </div>
    </div>`;
  }
}

customElements.define('probust-lessons', ProbustLessons);
