// SPDX-License-Identifier: MIT
// The table lab's controls: table, model, the point's values, and the noise of each column.
import { html, nothing } from 'lit';
import type { Row } from 'probust';
import { tidy } from '../../panels/words.js';
import { tableModels, tableNames, type State, type TableModel } from '../../state/state.js';
import type { Store } from '../../state/store.js';
import { smallNumber } from '../big-number.js';
import { newNoise, slider, sliderFromZero } from '../controls.js';
import {
  categoryOf,
  factorsOf,
  inputsOf,
  isCategory,
  pointOf,
  rowOf,
  tableOfState,
  tables,
  toleranceOf,
  type Column,
} from '../../tables/tables.js';

const modelNames: Record<TableModel, string> = { forest: 'random forest', network: 'neural network', regression: 'regression' };

const chips = <T extends string>(label: string, all: readonly T[], name: (each: T) => string, now: T, set: (each: T) => void) =>
  html`<div class="chips" role="group" aria-label=${label}>
    ${all.map((each) => html`<button class="chip" aria-pressed=${each === now} @click=${() => set(each)}>${name(each)}</button>`)}
  </div>`;

export function choices(store: Store) {
  const { table, tableModel } = store.state;
  return html`<div class="bar">
    ${chips(
      'Table',
      tableNames,
      (name) => tables[name].title,
      table,
      (name) => store.set({ table: name, tableRow: tables[name].row, tableX: [], tableFactors: [], tableTolerance: 0 }),
    )}
    ${chips(
      'Model',
      tableModels,
      (name) => (name === 'regression' ? `${modelNames.regression}: ${tables[table].regression.output}` : modelNames[name]),
      tableModel,
      (name) => store.set({ tableModel: name }),
    )}
  </div>`;
}

const notUsed = 'not an input of this model';

/** Controls for choosing a row of the table by its number. */
export function rowChooser(store: Store) {
  const table = tableOfState(store.state);
  const row = rowOf(table, store.state);
  const choose = (to: number) => store.set({ tableRow: (to + table.rows.length) % table.rows.length, tableX: [] });
  const moved = store.state.tableX.length > 0;
  return html`<div class="bar" role="group" aria-label="Row">
    <button class="chip" @click=${() => choose(row - 1)} aria-label="Previous ${table.one}">‹</button>
    <span>${table.one} <b data-row=${row}>${row}</b>, ${table.classes[table.rows[row]!.label]}${moved ? ', changed' : ''}</span>
    <button class="chip" @click=${() => choose(row + 1)} aria-label="Next ${table.one}">›</button>
    ${moved ? html`<button class="chip" @click=${() => store.set({ tableX: [] })}>as in the table</button>` : nothing}
  </div>`;
}

function valueSlider(store: Store, column: Column, i: number, used: boolean) {
  const values = pointOf(store.state);
  const set = (value: number) => store.set({ tableX: values.map((each, k) => (k === i ? value : each)) });
  if (isCategory(column))
    return html`<label class="slider"
      ><span>${column.name}</span>
      <select @change=${(event: Event) => set((event.target as HTMLSelectElement).selectedIndex)}>
        ${column.values.map((value, k) => html`<option ?selected=${k === values[i]}>${value}</option>`)}
      </select></label
    >`;
  const shown = tidy(values[i]!);
  return html`<label class="slider"
    ><span>${column.name} <b>${shown}</b> <span class="muted">${column.unit}${used ? '' : `, ${notUsed}`}</span></span>
    <input
      type="range"
      min=${column.low}
      max=${column.high}
      step=${column.step}
      .value=${String(values[i])}
      aria-valuetext="${shown} ${column.unit}"
      ?disabled=${!used}
      @input=${(event: Event) => set(Number((event.target as HTMLInputElement).value))}
  /></label>`;
}

export function pointSliders(store: Store, inputs: readonly number[]) {
  const { columns } = tableOfState(store.state);
  return html`<div class="controls">${columns.map((column, i) => valueSlider(store, column, i, inputs.includes(i)))}</div>`;
}

function factorSliders(store: Store) {
  const { columns } = tableOfState(store.state);
  const factors = factorsOf(store.state);
  const numeric = columns.flatMap((column, i) => (isCategory(column) ? [] : [{ column, i }]));
  const own = numeric.map(({ i }) => factors[i]!);
  const inputs = inputsOf(tableOfState(store.state), store.state.tableModel);
  const unused = numeric.filter(({ i }) => !inputs.includes(i));
  return html`<details>
    <summary>Noise of each column</summary>
    <div class="controls">
      ${numeric.map(({ column, i }, k) =>
        inputs.includes(i)
          ? sliderFromZero({
              ...{ label: `Noise of ${column.name}`, unit: own[k] === 0 ? '' : '× sigma', low: 0.05, high: 5, value: own[k]! },
              set: (value) => store.set({ tableFactors: own.map((each, at) => (at === k ? value : each)) }),
            })
          : nothing,
      )}
    </div>
    ${unused.map(({ column }) => html`<p class="small muted">No noise of ${column.name}: it is ${notUsed}.</p>`)}
  </details>`;
}

function tolerance(store: Store) {
  const { regression } = tableOfState(store.state);
  const value = toleranceOf(store.state);
  return slider({
    ...{ label: 'Tolerance', unit: regression.unit, low: regression.tolerance / 20, high: regression.tolerance * 10, value },
    set: (tableTolerance) => store.set({ tableTolerance }),
  });
}

/** The sliders of the noise. `row` contains the p that phones show next to the slider. */
export function noiseSliders(store: Store, row: Row | undefined) {
  const { state } = store;
  const category = categoryOf(state);
  const set = (patch: Partial<State>) => store.set(patch);
  return html`<div class="sigma">
      ${smallNumber(row)}
      ${slider({
        ...{ label: 'Noise, sigma', unit: 'standard deviations of each column', low: 0.02, high: 3, value: state.tableSigma },
        set: (tableSigma) => set({ tableSigma }),
      })}
    </div>
    <div class="controls">
      ${category ? sliderFromZero({ label: `The ${category.name} changes with probability`, low: 0.01, high: 1, value: state.tableChange, set: (tableChange) => set({ tableChange }) }) : nothing}
      ${state.tableModel === 'regression' ? tolerance(store) : nothing}
    </div>
    ${factorSliders(store)}
    <div class="bar">${newNoise(store)}</div>`;
}
