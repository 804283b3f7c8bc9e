// SPDX-License-Identifier: MIT
// <probust-curve>: p against sigma with its 95% band, or the mean over several points. Values can be read with the arrow keys or
// the pointer.
import { scaleLinear, scaleLog } from 'd3-scale';
import { css, html, nothing, svg, type TemplateResult } from 'lit';
import { curve } from '../analysis.js';
import type { Probust } from '../api.js';
import { usage } from '../errors.js';
import type { Row } from '../types.js';
import { ProbustElement, type Answer } from './base.js';
import type { Reading } from './public.js';
import { theme } from './theme.js';
import { interval, percent, plural, short } from './words.js';

export interface CurveView {
  readings: Reading[];
  /** A description of the curve in a sentence. */
  about: string;
}

const size = { width: 400, height: 260, left: 58, right: 14, top: 10, bottom: 46 };
const across: [number, number] = [size.left, size.width - size.right];
const upwards: [number, number] = [size.height - size.bottom, size.top];

type Maybe = Omit<Reading, 'sigma' | 'p'> & { sigma: number | null; p: number | null };
const answered = (all: readonly Maybe[]): Reading[] =>
  all.flatMap(({ sigma, p, pFail, ciLow, ciHigh }) => (sigma === null || p === null ? [] : [{ sigma, p, pFail, ciLow, ciHigh }]));

/** The sigma axis: linear for a narrow range, otherwise logarithmic with ticks at 1, 2 and 5 times powers of ten. */
function horizontal(readings: readonly Reading[]) {
  const [low, high] = [readings[0]!.sigma, readings.at(-1)!.sigma];
  if (low <= 0 || high / low < 5) {
    const scale = scaleLinear([low, high], across);
    return { scale, ticks: scale.ticks(5) };
  }
  const scale = scaleLog([low, high], across);
  return { scale, ticks: scale.ticks(4).filter((tick) => /^[125]/.test(tick.toExponential())) };
}

function paths(readings: readonly Reading[], x: (sigma: number) => number, y: (p: number) => number) {
  const at = (sigma: number, p: number) => `${x(sigma).toFixed(2)},${y(p).toFixed(2)}`;
  const bounded = readings.filter(({ ciLow, ciHigh }) => ciLow !== null && ciHigh !== null);
  const upper = bounded.map(({ sigma, ciHigh }) => at(sigma, ciHigh!));
  const lower = bounded.map(({ sigma, ciLow }) => at(sigma, ciLow!)).reverse();
  return {
    line: `M${readings.map(({ sigma, p }) => at(sigma, p)).join('L')}`,
    band: bounded.length > 1 ? `M${[...upper, ...lower].join('L')}Z` : '',
  };
}

async function readingsOf(rows: readonly Row[], probust: () => Promise<Probust>): Promise<Reading[]> {
  if (new Set(rows.map((row) => row.index)).size < 2) return answered(rows);
  const [first] = await curve(await probust(), rows);
  return answered(first!.scales.map(({ sigma, p: { mean, ciLow, ciHigh } }) => ({ sigma, p: mean, pFail: null, ciLow, ciHigh })));
}

export class ProbustCurve extends ProbustElement<CurveView> {
  static override properties = { at: { state: true } };
  static override styles = [
    theme,
    css`
      svg {
        display: block;
        width: 100%;
        max-width: 40rem;
        height: auto;
      }
      text {
        font: 12px var(--font);
        fill: var(--muted);
      }
      .label {
        fill: var(--ink);
      }
      .grid {
        stroke: var(--line);
      }
      .tick,
      .here {
        stroke: var(--muted);
      }
      .here {
        stroke-dasharray: 2 3;
      }
      .band {
        fill: var(--accent);
        opacity: 0.18;
      }
      .line {
        fill: none;
        stroke: var(--accent);
        stroke-width: 2.5;
        stroke-linejoin: round;
      }
      .dot {
        fill: var(--accent);
      }
      .readout {
        margin: 0;
        min-height: 1.45em;
        font-variant-numeric: tabular-nums;
      }
    `,
  ];

  /** The index of the reading that the readout shows; undefined if none is selected. */
  declare private at: number | undefined;

  protected override async present(answer: Answer, probust: () => Promise<Probust>): Promise<CurveView> {
    const first = answer.rows[0];
    const kindOf = (row: Row) => [row.estimator, row.model, row.noise.replace(/:.*?(?=\||$)/, '')].join(' ');
    const rows = answer.rows.filter((row) => kindOf(row) === kindOf(first!));
    const readings = (await readingsOf(rows, probust)).sort((a, b) => a.sigma - b.sigma);
    if (readings.length < 2) {
      throw usage('a curve needs p at two or more noise scales', 'give a range, such as sigma="0.05..0.5:8"');
    }
    this.at = undefined;
    const points = new Set(rows.map((row) => row.index)).size;
    const kind = first!.noise.replace(/:.*/, '');
    return { readings, about: `${points > 1 ? `mean over ${plural(points, 'point')}, ` : ''}${first!.estimator}, ${kind} noise` };
  }

  protected override show(view: CurveView): unknown {
    const { readings } = view;
    const [first, last] = [readings[0]!, readings.at(-1)!];
    const summary = `p against sigma: ${percent(first.p, first.pFail)} at ${short(first.sigma)}, ${percent(last.p, last.pFail)} at ${short(last.sigma)}`;
    return html`<svg
        part="chart"
        viewBox="0 0 ${size.width} ${size.height}"
        role="img"
        aria-label=${summary}
        tabindex="0"
        @keydown=${(event: KeyboardEvent) => this.#key(event, view)}
        @pointermove=${(event: PointerEvent) => this.#point(event, view)}
        @pointerleave=${({ pointerType }: PointerEvent) => pointerType === 'mouse' && (this.at = undefined)}
        @click=${() => this.#select(view)}
      >
        ${this.#drawn(view)}
      </svg>
      <p class="readout muted" part="readout" aria-live="polite">${this.#readout(view)}</p>
      <details part="table">
        <summary>Numbers</summary>
        <table>
          <thead>
            <tr>
              <th>sigma</th>
              <th class="number">p</th>
              <th class="number">95% interval</th>
            </tr>
          </thead>
          <tbody>
            ${readings.map(
              ({ sigma, p, pFail, ciLow, ciHigh }) =>
                html`<tr>
                  <td>${short(sigma)}</td>
                  <td class="number">${percent(p, pFail)}</td>
                  <td class="number">${interval(ciLow, ciHigh)}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </details>`;
  }

  #drawn({ readings }: CurveView): TemplateResult {
    const { scale: x, ticks } = horizontal(readings);
    const y = scaleLinear([0, 1], upwards);
    const { line, band } = paths(readings, x, y);
    const here = this.at === undefined ? undefined : readings[this.at];
    return svg`
      ${[0, 0.25, 0.5, 0.75, 1].map(
        (tick) => svg`<line class="grid" x1=${across[0]} x2=${across[1]} y1=${y(tick)} y2=${y(tick)}></line>
          <text x=${across[0] - 7} y=${y(tick) + 4} text-anchor="end">${100 * tick}%</text>`,
      )}
      ${ticks.map(
        (tick) => svg`<line class="tick" x1=${x(tick)} x2=${x(tick)} y1=${upwards[0]} y2=${upwards[0] + 4}></line>
          <text x=${x(tick)} y=${upwards[0] + 18} text-anchor="middle">${short(tick)}</text>`,
      )}
      <text class="label" x=${(across[0] + across[1]) / 2} y=${size.height - 6} text-anchor="middle">sigma, in units of the data</text>
      <text class="label" transform="translate(13 ${(upwards[0] + upwards[1]) / 2}) rotate(-90)" text-anchor="middle">p</text>
      <path class="band" part="band" d=${band}></path>
      <path class="line" part="line" d=${line}></path>
      ${
        here
          ? svg`<line class="here" x1=${x(here.sigma)} x2=${x(here.sigma)} y1=${upwards[0]} y2=${upwards[1]}></line>
              <circle class="dot" r="4" cx=${x(here.sigma)} cy=${y(here.p)}></circle>`
          : nothing
      }` as unknown as TemplateResult;
  }

  #readout({ readings, about }: CurveView): string {
    if (this.at === undefined) return about;
    const { sigma, p, pFail, ciLow, ciHigh } = readings[this.at]!;
    const shown = interval(ciLow, ciHigh);
    return `sigma ${short(sigma)}: ${percent(p, pFail)}${shown && ` (${shown})`}`;
  }

  #point(event: PointerEvent, { readings }: CurveView): void {
    const box = (event.currentTarget as SVGElement).getBoundingClientRect();
    const sigma = horizontal(readings).scale.invert(((event.clientX - box.left) / box.width) * size.width);
    const distances = readings.map((reading) => Math.abs(reading.sigma - sigma));
    this.at = distances.indexOf(Math.min(...distances));
  }

  #key(event: KeyboardEvent, view: CurveView): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const last = view.readings.length - 1;
    const to: Record<string, number> = {
      ArrowLeft: Math.max(0, (this.at ?? last + 1) - 1),
      ArrowRight: Math.min(last, (this.at ?? -1) + 1),
      Home: 0,
      End: last,
    };
    const selects = event.key === 'Enter' || event.key === ' ';
    if (!selects && !(event.key in to)) return;
    event.preventDefault();
    if (selects) this.#select(view);
    else this.at = to[event.key];
  }

  #select({ readings }: CurveView): void {
    if (this.at !== undefined) this.emit('select', readings[this.at]);
  }
}
