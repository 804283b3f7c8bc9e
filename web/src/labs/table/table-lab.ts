// SPDX-License-Identifier: MIT
// The table lab: a row of a table, noise on its columns, and the probability that a model's prediction survives.
import { css, html, nothing } from 'lit';
import { classColour } from '../../draw/classes.js';
import { panelStyles } from '../../panels/panel.js';
import { percent, percentOf, tidy } from '../../panels/words.js';
import type { State } from '../../state/state.js';
import { sharedStyles } from '../../style/shared.js';
import { bigNumber, bigNumberStyles } from '../big-number.js';
import { LabElement } from '../lab-element.js';
import type { SessionCallbacks } from '../lab-session.js';
import { labStyles } from '../styles.js';
import { copies, type Quick } from './answers.js';
import { choices, noiseSliders, pointSliders, rowChooser } from './controls.js';
import { curvePanel, ranksPanel, scatterPanel, type FigureParts } from './figures.js';
import { TableSession } from './session.js';
import { categoryOf, inputsOf, rowOf, tableOfState, toleranceOf } from '../../tables/tables.js';
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

const isRegression = ({ tableModel }: Readonly<State>): boolean => tableModel === 'regression';

/** The names of the classes; for a regression, descriptions of how predictions compare with the tolerance. */
const namesOf = (state: Readonly<State>): string[] =>
  isRegression(state) ? ['too low', 'too high', 'within tolerance'] : tableOfState(state).classes;

/** A warning if the prediction is wrong. Predictions are compared with labels only for unchanged rows. */
function wrongLine({ state, row }: Quick) {
  const { rows, classes } = tableOfState(state);
  const right = rows[rowOf(tableOfState(state), state)]!.label;
  if (isRegression(state) || state.tableX.length > 0 || right === row.target) return nothing;
  return html`<p class="small" data-wrong>The prediction is wrong: this is <b>${classes[right]}</b>.</p>`;
}

/** The prediction of a regression, and how much it may change. */
function predictedLine({ state, output: value = NaN }: Quick) {
  const { output, unit, digits } = tableOfState(state).regression;
  const within = html`to within ${tidy(toleranceOf(state))} ${unit}`;
  const shown = value.toFixed(digits);
  return html`<p class="lead">
    of noisy samples keep the
    ${unit ? html`predicted ${output} of <b>${shown} ${unit}</b>` : html`prediction of <b>${shown} ${output}</b>`}, ${within}
  </p>`;
}

function numberView(quick: Quick | undefined, stale: boolean) {
  if (!quick || !isRegression(quick.state)) {
    const name = quick ? namesOf(quick.state)[quick.row.target] : undefined;
    return html`${bigNumber(quick?.row, name ?? '', stale)} ${quick ? wrongLine(quick) : nothing}`;
  }
  return html`<div class=${stale ? 'big stale' : 'big'} data-testid="p" data-p=${quick.row.p ?? ''}>${percentOf(quick.row)}</div>
    ${predictedLine(quick)}`;
}

class TableLab extends LabElement<Ui, TableSession> {
  static override styles = [sharedStyles, panelStyles, labStyles, ownStyles];

  constructor() {
    super();
    this.ui = { row: undefined, readCurve: undefined, readRanks: undefined };
  }

  protected override newSession(callbacks: SessionCallbacks): TableSession {
    return new TableSession(this.engine, () => this.state, callbacks);
  }

  protected override answered(): void {
    const quick = this.session.answers.quick?.value;
    if (!quick) return;
    if (this.silent) this.report('ready', { model: this.state.tableModel });
    const { row } = quick;
    this.announce(row, { ...row, sigma: this.state.tableSigma }, () => `${percentOf(row)} of noisy samples keep the prediction.`);
  }

  #shares({ state, row }: Quick) {
    const names = namesOf(state);
    const shares = row.classes ?? [];
    return html`<table class="shares">
      <caption class="visually-hidden">
        Predictions of the noisy samples
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
    const name = namesOf(this.state)[rival] ?? '';
    const category = categoryOf(this.state);
    const nearest = isRegression(this.state) ? `nearest prediction that is ${name}` : `nearest different prediction, ${name},`;
    const words = Number.isFinite(distance)
      ? html`The ${nearest} is <b>${tidy(distance)}</b> standard deviations away`
      : 'No different prediction was found nearby';
    return html`<p class="small ${stale ? 'stale' : ''}" data-distance=${distance}>
      ${words}${category ? ` with the same ${category.name}` : nothing}.
    </p>`;
  }

  #side(parts: FigureParts) {
    const quick = parts.answers.quick?.value;
    const stale = parts.answers.quick?.key !== parts.keys.quick;
    return html`<div class="side">
      ${this.ifVisible('number', () => html`<div part="number">${numberView(quick, stale)}</div>`)}
      <p class="small muted">
        ± counted over ${copies.toLocaleString('en')} noisy
        samples${quick?.row.ciLow == null ? '' : `, 95% interval: ${percent(quick.row.ciLow)} to ${percent(quick.row.ciHigh)}`}
      </p>
      ${quick ? this.ifVisible('rivals', () => this.#shares(quick)) : nothing}
      ${this.ifVisible('boundary', () => this.#distance())}
    </div>`;
  }

  protected override render() {
    if (!this.begun) return nothing;
    const { store } = this;
    const table = tableOfState(this.state);
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
