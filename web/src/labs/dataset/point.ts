// SPDX-License-Identifier: MIT
// One point: a card in lists of points, and the details of the chosen one.
import { html, nothing } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { percent, percentOf } from '../../panels/words.js';
import type { Data, Item } from './session.js';
import './thumbnail.js';

/** The largest number of a point's values that are listed. */
const mostNumbers = 6;

function numbersOf(point: Float32Array): string {
  const shown = Array.from(point.subarray(0, mostNumbers), (value) => String(Number(value.toPrecision(3))));
  return [...shown, ...(point.length > mostNumbers ? ['…'] : [])].join(' · ');
}

/** The name of a class; its index if it has no name. */
export const nameIn =
  ({ classNames }: Pick<Data, 'classNames'>) =>
  (of: number): string =>
    classNames?.[of] ?? String(of);

/** An image, or the point's numbers. */
function picture({ points }: Data, index: number) {
  if (!points) return html`<span class="small">point ${index}</span>`;
  const { x, pointShape, words } = points;
  const size = pointShape.reduce((all, each) => all * each, 1);
  const point = x.subarray(index * size, (index + 1) * size);
  return pointShape.length > 1
    ? html`<probust-thumbnail .x=${point} .shape=${pointShape}></probust-thumbnail>`
    : html`<span class="small">${words?.[index] ?? numbersOf(point)}</span>`;
}

const guarded = (data: Data, index: number) => guard([data, index], () => picture(data, index));

export interface Card {
  chosen: boolean;
  choose(): void;
  /** The class that most of the failing samples get; null if none fails, undefined if not computed. */
  rival?: number | null | undefined;
}

export function card(data: Data, { row }: Item, { chosen, choose, rival }: Card) {
  const name = nameIn(data);
  const wrong = row.label !== null && row.label !== row.predicted;
  return html`<li>
    <button class="card" aria-pressed=${chosen} @click=${choose}>
      ${data.points ? html`<span class="visually-hidden">Point ${row.index}</span>` : nothing} ${guarded(data, row.index)}
      <b>${percentOf(row)}</b>
      <span class="small ${wrong ? 'wrong' : 'muted'}"
        >${name(row.predicted)}${wrong ? `, should be ${name(row.label!)}` : ''}</span
      >
      ${rival === undefined ? nothing : html`<span class="small muted">${rival === null ? 'no sample fails' : `→ ${name(rival)}`}</span>`}
    </button>
  </li>`;
}

function truth({ row }: Item, name: (of: number) => string): string {
  if (row.label === null) return 'The true class is unknown.';
  return row.label === row.predicted ? 'That is the true class.' : `That is wrong: the true class is ${name(row.label)}.`;
}

/** The chosen point in words, next to its picture. */
export function pointDetail(data: Data, item: Item, close: () => void) {
  const { row, softmax } = item;
  const name = nameIn(data);
  return html`<div class="chosen" data-index=${row.index}>
    <div class="picture">${guarded(data, row.index)}</div>
    <p>
      <b>Point ${row.index}, ringed above.</b> The network predicts <b>${name(row.predicted)}</b>. ${truth(item, name)} The
      prediction survives the noise with probability p = <b>${percentOf(row)}</b>.
      ${softmax === null ? nothing : html`The network’s own confidence (softmax) is <b>${percent(softmax)}</b>.`}
      <button class="quiet" @click=${close}>Close</button>
    </p>
  </div>`;
}
