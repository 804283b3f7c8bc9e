// SPDX-License-Identifier: MIT
// A panel: a title, two sentences, a figure, the source of its formula, and buttons for saving files.
import { css, html, nothing, type TemplateResult } from 'lit';
import { saveSvg, saveText } from './save.js';

/** The parts that all panels have. */
interface Frame {
  /** The panel's name in the attribute `panels`. */
  id: string;
  title: string;
  /** A description in two sentences. */
  words: string | TemplateResult;
  source: string | TemplateResult;
}

/** A panel without a chart. */
export interface PlainPanel extends Frame {
  content: unknown;
}

export interface Panel extends Frame {
  figure: unknown;
  stale?: boolean;
  controls?: unknown;
  /** The chart's numbers as CSV. If given, the numbers and the chart can be saved. */
  csv?: (() => string) | undefined;
}

const figureOf = (event: Event): SVGSVGElement | null =>
  (event.target as Element).closest('section')!.querySelector<SVGSVGElement>('svg.chart');

const files = (id: string, title: string, csv: () => string) =>
  html`<div class="files">
    <button
      class="quiet"
      @click=${(event: Event) => saveSvg(figureOf(event), `probust-${id}.svg`)}
      aria-label="Save ${title} as SVG"
    >
      SVG
    </button>
    <button class="quiet" @click=${() => saveText(csv(), `probust-${id}.csv`, 'text/csv')} aria-label="Save ${title} as CSV">
      CSV
    </button>
  </div>`;

const framed = ({ id, title, words, source }: Frame, tools: unknown, content: unknown) => html`
  <section part="panel" class="panel" id=${id} aria-labelledby="${id}-title">
    <div class="head">
      <h2 id="${id}-title">${title}</h2>
      ${tools}
    </div>
    <p class="words">${words}</p>
    ${content}
    <p class="source">${source}</p>
  </section>
`;

export const plainPanel = ({ content, ...frame }: PlainPanel) => framed(frame, nothing, content);

export const panel = ({ figure, stale = false, controls, csv, ...frame }: Panel) =>
  framed(
    frame,
    csv ? files(frame.id, frame.title, csv) : nothing,
    html`<div class="figure ${stale ? 'stale' : ''}">${figure}</div>
      ${controls ?? nothing}`,
  );

/** Placeholder for a figure. */
export const waiting = html`<div class="waiting" aria-hidden="true">computing</div>`;

export const panelStyles = css`
  .keys {
    display: flex;
    flex-wrap: wrap;
    gap: 0 0.75rem;
    font-size: 0.8125rem;
    margin: 0.15rem 0 0.5rem;
  }
  .key {
    display: inline-flex;
    align-items: center;
    gap: 0.35rem;
    padding: 0.1rem 0.2rem;
    border-radius: 4px;
  }
  .key.hovered {
    background: var(--soft);
  }
  .waiting {
    aspect-ratio: 380 / 250;
    display: grid;
    place-items: center;
    color: var(--muted);
    /* Appears only after a pause, because most charts are drawn before that. */
    animation: 1ms 700ms both appear;
  }
  @keyframes appear {
    from {
      opacity: 0;
    }
  }
  .panel {
    min-width: 0;
    padding: 1.1rem 0 0;
    border-top: 1px solid var(--line);
  }
  .head {
    display: flex;
    align-items: baseline;
    justify-content: space-between;
    gap: 0.5rem;
  }
  .files {
    display: flex;
  }
  button.quiet {
    border: 0;
    background: none;
    color: var(--muted);
    font-size: 0.8125rem;
    padding: 0 0.5rem;
    min-height: 24px;
  }
  button.quiet:hover {
    color: var(--ink);
    text-decoration: underline;
  }
  .words {
    font-size: 0.9375rem;
    min-height: 4.4em;
    text-wrap: pretty;
  }
  :host([brief]) .words,
  :host([brief]) .source {
    display: none;
  }
  .source {
    margin: 0.4rem 0 0;
    font-size: 0.8125rem;
    color: var(--muted);
  }
  /* Delayed, so that results that are outdated only for a moment do not flicker. */
  .stale {
    opacity: 0.5;
    transition: opacity 150ms 120ms;
  }
  /* The last label of an axis may reach beyond it. */
  .chart {
    display: block;
    overflow: visible;
    width: 100%;
    height: auto;
    font-size: 12px;
  }
  .chart text {
    fill: var(--muted);
    font-family: var(--font);
  }
  .chart .label,
  .chart .strong {
    fill: var(--ink);
  }
  .sensor {
    fill: transparent;
  }
  .sensor.press {
    cursor: pointer;
  }
  .cursor {
    stroke: var(--accent);
    stroke-width: 1.5;
  }
  /* Space for the values, so that nothing moves when they appear. */
  .reading {
    min-height: 4.4em;
    margin: 0;
    font-size: 0.8125rem;
  }
  .chart .axis line {
    stroke: var(--muted);
  }
  .chart .axis .grid {
    stroke: var(--line);
  }
  .chart path,
  .chart polyline {
    fill: none;
  }
  @media (prefers-reduced-motion: reduce) {
    .figure,
    .stale {
      transition: none;
    }
  }
`;
