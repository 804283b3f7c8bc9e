// SPDX-License-Identifier: MIT
// The list of estimators: each estimate, with a mark for its kind, its interval, its cost, and a comparison with the true p.
import { css, html, nothing } from 'lit';
import { classMap } from 'lit/directives/class-map.js';
import type { EstimatorInfo, Row } from 'probust';
import { codecs } from '../state/state.js';
import { describe, hintOf, kindOf, marks, nameOf, passes, percentOf, reasonOf } from './words.js';

interface EstimatorList {
  /** All available estimators. */
  known: readonly EstimatorInfo[];
  rows: readonly Row[];
  /** The requested estimators, such as "mc:100", in the order of the rows. */
  forms: readonly string[];
  truth: Row | undefined;
  /** The name of the reference for the comparison; "the truth" by default. */
  against?: string;
  stale: boolean;
  hovered: string | undefined;
  /** Whether these are the estimators for beginners, each with a short description. */
  first: boolean;
  onHover(form: string | undefined): void;
  /** Called when the user chooses other forms; an empty list means the defaults. */
  onChoose(forms: string[]): void;
  /** Called to show all estimators, or only those for beginners. */
  onMore(more: boolean): void;
}

/** The interval that contains all estimates and the true p, with a margin. */
function span({ rows, truth }: EstimatorList): [number, number] {
  const values = [...rows, ...(truth ? [truth] : [])].flatMap(({ p }) => (p === null ? [] : [p]));
  const ends = rows.flatMap(({ ciLow, ciHigh }) => [ciLow, ciHigh].filter((end) => end !== null));
  const low = Math.min(...values, ...ends, 1);
  const high = Math.max(...values, ...ends, low + 0.02);
  const margin = 0.06 * (high - low);
  return [low - margin, high + margin];
}

function strip(row: Row, at: (p: number) => number, truth: number | null | undefined) {
  const { p, ciLow, ciHigh } = row;
  const whisker =
    ciLow !== null && ciHigh !== null
      ? html`<i class="whisker" .style="left: ${at(ciLow)}%; width: ${at(ciHigh) - at(ciLow)}%"></i>`
      : nothing;
  const line = typeof truth === 'number' ? html`<i class="truth" .style="left: ${at(truth)}%"></i>` : nothing;
  return html`<span class="strip" aria-hidden="true">
    ${line}${whisker}${p === null ? nothing : html`<i class="dot" .style="left: ${at(p)}%"></i>`}
  </span>`;
}

function item(row: Row, form: string, list: EstimatorList, at: (p: number) => number) {
  const kind = kindOf(row);
  const { name, detail } = nameOf(form);
  const cost = row.forwards + row.backwards;
  const truth = list.truth?.p;
  const error = row.p !== null && typeof truth === 'number' ? Math.abs(row.p - truth) : undefined;
  const reason = reasonOf(row);
  const description = describe(form, list.known);
  const spoken = [
    `${form}: ${percentOf(row)}, ${marks[kind].words}`,
    error === undefined ? '' : `, ${kind === 'confidence' ? 'differs from p' : 'off'} by ${(100 * error).toFixed(1)} points`,
    `, cost ${passes(cost)}. ${description} ${reason}`,
  ].join('');
  return html`<li data-form=${form} data-value=${row.p ?? ''}>
    <button
      class=${classMap({ row: true, hovered: list.hovered === form })}
      aria-label=${spoken}
      aria-pressed=${list.hovered === form}
      title=${`${description} (${marks[kind].words})`}
      @pointerenter=${() => list.onHover(form)}
      @pointerleave=${() => list.onHover(undefined)}
      @focus=${() => list.onHover(form)}
      @blur=${() => list.onHover(undefined)}
    >
      <span class="name">${name}<wbr /><span class="muted">${detail}</span></span>
      ${strip(row, at, truth)}
      <span class="value"
        ><span class="mark">${marks[kind].sign}</span> ${kind === 'invalid' ? 'not valid' : percentOf(row)}</span
      >
      <span class="cost muted">${cost}</span>
      ${reason ? html`<span class="reason small muted">${reason}</span>` : nothing}
      ${list.first ? html`<span class="reason small muted">${hintOf(form)}</span>` : nothing}
    </button>
  </li>`;
}

const legend = html`${Object.values(marks).map(({ sign, words }) => html`<span><span class="mark">${sign}</span> ${words}</span>`)}
  <span>cost: forward and backward passes</span>`;

function choice({ known, forms, onChoose }: EstimatorList) {
  const chosen = (text: string) => codecs.estimators.read(text.replace(/\s/g, '')) ?? [];
  return html`<details class="choice small">
    <summary>Choose estimators</summary>
    <label>
      Names and numbers of samples; leave empty for the defaults.
      <input
        type="text"
        name="estimators"
        spellcheck="false"
        .value=${forms.join(', ')}
        @change=${(event: Event) => onChoose(chosen((event.target as HTMLInputElement).value))}
      />
    </label>
    <p class="muted">
      Available: ${[...new Set(known.map(({ name }) => name))].join(', ')}. Write the number of samples after a colon, as in
      mc:100.
    </p>
  </details>`;
}

export function estimatorList(list: EstimatorList) {
  const [low, high] = span(list);
  const at = (p: number) => (100 * (p - low)) / (high - low);
  return html`
    <div class="heads small muted" aria-hidden="true">
      <span>estimator</span><span>compared with ${list.against ?? 'the truth'}</span><span>p</span><span>cost</span>
    </div>
    <ul class=${classMap({ estimators: true, simple: list.first, stale: list.stale })}>
      ${list.rows.map((row, i) => item(row, list.forms[i] ?? row.estimator, list, at))}
    </ul>
    ${list.first ? nothing : html`<p class="legend small muted">${list.hovered ? html`<span>${describe(list.hovered, list.known)}</span>` : legend}</p>`}
    <button class="quiet level" @click=${() => list.onMore(list.first)}>
      ${list.first ? 'More estimators and panels' : 'Fewer estimators'}
    </button>
    ${list.first ? nothing : choice(list)}
  `;
}

export const estimatorStyles = css`
  .estimators {
    list-style: none;
    margin: 0;
    padding: 0;
  }
  .heads,
  button.row {
    display: grid;
    grid-template-columns: 9rem minmax(3rem, 1fr) 6.2rem 2.4rem;
    align-items: center;
    gap: 0 0.6rem;
    padding: 0 0.4rem;
  }
  .heads span {
    white-space: nowrap;
    overflow: hidden;
  }
  .heads span:nth-child(n + 3),
  .cost {
    text-align: right;
  }
  button.row {
    width: 100%;
    border: 0;
    background: none;
    color: inherit;
    text-align: left;
    min-height: 30px;
    border-radius: 6px;
  }
  button.row.hovered {
    background: var(--soft);
    color: inherit;
  }
  .simple button.row {
    padding-bottom: 0.4rem;
  }
  .name {
    white-space: nowrap;
  }
  .value {
    text-align: right;
    white-space: nowrap;
  }
  .mark {
    color: var(--muted);
    display: inline-block;
    min-width: 1em;
    text-align: center;
  }
  .strip {
    position: relative;
    height: 22px;
    background: linear-gradient(var(--line), var(--line)) center / 100% 1px no-repeat;
  }
  .strip i {
    position: absolute;
    top: 50%;
  }
  .strip .truth {
    top: 0;
    height: 100%;
    border-left: 2px solid var(--ink);
    margin-left: -1px;
  }
  .strip .whisker {
    height: 7px;
    margin-top: -3.5px;
    border: solid var(--muted);
    border-width: 0 1.5px;
    background: linear-gradient(var(--muted), var(--muted)) center / 100% 1.5px no-repeat;
  }
  .strip .dot {
    width: 10px;
    height: 10px;
    margin: -5px;
    border-radius: 50%;
    background: var(--accent);
    border: 1.5px solid var(--paper);
  }
  @container (max-width: 480px) {
    .heads {
      display: none;
    }
    button.row {
      grid-template-columns: 7rem minmax(2.5rem, 1fr) 5.4rem;
      gap: 0 0.4rem;
      padding: 0 0.2rem;
      font-size: 0.875rem;
      min-height: 36px;
    }
    .row .cost {
      display: none;
    }
    .legend {
      display: block;
    }
    .legend span {
      margin-right: 0.4rem;
    }
  }
  .reason {
    grid-column: 1 / -1;
  }
  :host([brief]) .level,
  :host([brief]) .legend {
    display: none;
  }
  .level {
    margin: 0.35rem 0 0;
    padding: 0 0.4rem;
    text-decoration: underline;
  }
  .choice {
    margin: 0.25rem 0.4rem 0;
  }
  .choice summary {
    cursor: pointer;
    width: fit-content;
  }
  .choice input {
    display: block;
    box-sizing: border-box;
    width: 100%;
    margin: 0.35rem 0;
  }
  .choice p {
    margin: 0;
  }
  .legend {
    display: flex;
    flex-wrap: wrap;
    gap: 0 1rem;
    margin: 0.5rem 0.4rem 0;
    min-height: 2.9em;
    align-content: start;
  }
`;
