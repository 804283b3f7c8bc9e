// SPDX-License-Identifier: MIT
// The table lab: a row of a table, noise on its columns, and the probability that a model's answer survives.
import { css, html, nothing } from 'lit';
import { classColour } from '../../draw/classes.js';
import { panelStyles } from '../../panels/panel.js';
import { percent, percentOf, tidy } from '../../panels/words.js';
import { sharedStyles } from '../../style/shared.js';
import { bigNumber, bigNumberStyles } from '../big-number.js';
import { LabElement } from '../lab-element.js';
import type { SessionCallbacks } from '../lab-session.js';
import { labStyles } from '../styles.js';
import { copies, type Quick } from './answers.js';
import { choices, noiseSliders, pointSliders, rowChooser } from './controls.js';
import { curvePanel, ranksPanel, scatterPanel, type FigureParts } from './figures.js';
import { TableSession } from './session.js';
import { inputsOf, isCategory, tableOfState, toleranceOf, type Table } from '../../tables/tables.js';
import type { Ui } from './ui.js';

const ownStyles = css`
  ${bigNumberStyles}
  .lab {
    --columns: minmax(0, 1fr) minmax(0, 1fr);
  }
  .stage {
    gap: 0.75rem;
  }
  .controls {
    gap: 0.75rem 1.5rem;
  }
  .shares {
    width: 100%;
    border-collapse: collapse;
    font-size: 0.9375rem;
  }
  .shares th {
    width: 9rem;
    font-weight: 400;
    text-align: left;
  }
  .shares td:last-child {
    width: 4.5rem;
    text-align: right;
  }
  .shares i {
    display: block;
    height: 12px;
    min-width: 1px;
    border-radius: 2px;
  }
  .dot {
    fill: var(--muted);
    fill-opacity: 0.4;
    cursor: pointer;
  }
  .dot.hovered {
    fill: var(--accent);
    fill-opacity: 1;
  }
  .dot.chosen {
    fill: var(--accent);
    fill-opacity: 1;
    stroke: var(--ink);
    stroke-width: 2;
  }
  @container (max-width: 480px) {
    .lab {
      padding-top: 0.9rem;
    }
  }
`;

/** The classes by name; of a regression, too low, too high and within the tolerance. */
const namesOf = (table: Table, regression: boolean): string[] => (regression ? ['lower', 'higher', 'within'] : table.classes);

class TableLab extends LabElement<Ui, TableSession> {
  static override styles = [sharedStyles, panelStyles, labStyles, ownStyles];

  constructor() {
    super();
    this.ui = { row: undefined, readCurve: undefined, readRanks: undefined };
  }

  protected override newSession(callbacks: SessionCallbacks): TableSession {
    return new TableSession(this.engine, () => this.state, callbacks);
  }

  get #table(): Table {
    return tableOfState(this.state);
  }

  get #isRegression(): boolean {
    return this.state.tableModel === 'regression';
  }

  protected override answered(): void {
    const quick = this.session.answers.quick?.value;
    if (!quick) return;
    if (this.silent) this.report('ready', { model: this.state.tableModel });
    const { row } = quick;
    this.announce(row, { ...row, sigma: this.state.tableSigma }, () => `${percentOf(row)} of noisy copies keep the answer.`);
  }

  #number(quick: Quick | undefined, stale: boolean) {
    const table = this.#table;
    if (!quick || !this.#isRegression) return bigNumber(quick?.row, quick ? (table.classes[quick.row.target] ?? '') : '', stale);
    const { output, unit, digits } = table.regression;
    const within = (amount: string) => `${amount} ${unit}`.trim();
    return html`<div class=${stale ? 'big stale' : 'big'} data-testid="p" data-p=${quick.row.p ?? ''}>
        ${percentOf(quick.row)}
      </div>
      <p class="lead">
        of noisy copies keep the ${output} of <b>${within((quick.output ?? NaN).toFixed(digits))}</b>, up to
        ${within(tidy(toleranceOf(this.state)))}
      </p>`;
  }

  #shares({ row }: Quick) {
    const names = namesOf(this.#table, this.#isRegression);
    const shares = row.classes ?? [];
    return html`<table class="shares">
      <caption class="visually-hidden">
        Answers of the noisy copies
      </caption>
      <tbody>
        ${names.map(
          (name, of) =>
            html`<tr data-of=${of} data-share=${shares[of] ?? ''}>
              <th scope="row">${name}</th>
              <td><i .style="width: ${100 * (shares[of] ?? 0)}%; background: ${classColour(of)}"></i></td>
              <td>${percent(shares[of] ?? null)}</td>
            </tr>`,
        )}
      </tbody>
    </table>`;
  }

  #distance() {
    const { near } = this.session.answers;
    if (!near) return nothing;
    const stale = near.key !== this.session.keys(this.state).near;
    const { distance, rival } = near.value;
    const name = namesOf(this.#table, this.#isRegression)[rival] ?? '';
    const words = Number.isFinite(distance)
      ? html`The nearest other answer, ${name}, is <b>${tidy(distance)}</b> standard deviations away.
          ${this.#table.columns.some(isCategory) ? 'Categories keep their value.' : nothing}`
      : html`No other answer was found nearby.`;
    return html`<p class="small ${stale ? 'stale' : ''}" data-distance=${distance}>${words}</p>`;
  }

  #side(parts: FigureParts) {
    const quick = parts.answers.quick?.value;
    const stale = parts.answers.quick?.key !== parts.keys.quick;
    return html`<div class="side">
      ${this.ifVisible('number', () => html`<div part="number">${this.#number(quick, stale)}</div>`)}
      <p class="small muted">
        ± counted: ${copies.toLocaleString('en')}
        copies${quick?.row.ciLow == null ? '' : `, 95% interval ${percent(quick.row.ciLow)} to ${percent(quick.row.ciHigh)}`}
      </p>
      ${quick ? this.ifVisible('rivals', () => this.#shares(quick)) : nothing}
      ${this.ifVisible('boundary', () => this.#distance())}
    </div>`;
  }

  protected override render() {
    if (!this.begun) return nothing;
    const { store } = this;
    const table = this.#table;
    const parts: FigureParts = { ...this.parts, keys: this.session.keys(this.state) };
    const inputs = inputsOf(table, this.state.tableModel);
    return html`<div class="lab ${this.embed ? 'embedded' : ''}">
      <div class="first">
        <div class="stage">
          ${choices(store)}
          <p class="small muted">${table.about}. Source: ${table.source}.</p>
          ${rowChooser(store)} ${pointSliders(store, inputs)} ${noiseSliders(store, parts.answers.quick?.value.row)}
        </div>
        ${this.#side(parts)}
      </div>
      <div class="panels">
        ${this.ifVisible('scatter', () => scatterPanel(parts))} ${this.ifVisible('curves', () => curvePanel(parts))}
        ${this.ifVisible('ranks', () => ranksPanel(parts))}
      </div>
      ${this.spoken()}
    </div>`;
  }
}

if (!customElements.get('probust-table-lab')) customElements.define('probust-table-lab', TableLab);
