// SPDX-License-Identifier: MIT
// The legend of charts that have a line for each estimator, and the styles of these lines.
import { html } from 'lit';

const dashes = ['none', '6 3', '2 3', '8 3 2 3', '12 4', '1 4', '5 2', '3 5'];

/** Dashes distinguish lines without colours. */
export const dashOf = (line: number): string => dashes[line % dashes.length]!;
export const lineColour = (line: number): string => `var(--line-${line % dashes.length})`;

export interface LegendEntry {
  form: string;
  /** Index of the line; undefined for the line of the true p. */
  line: number | undefined;
  /** The label of the entry, if it differs from `form`. */
  name?: string;
}

/** Hovering over an entry highlights its line. */
export const legend = (
  entries: readonly LegendEntry[],
  hovered: string | undefined,
  onHover: (form: string | undefined) => void,
) =>
  html`<div class="keys">
    ${entries.map(({ form, line, name = line === undefined ? 'true p' : form }) => {
      const colour = line === undefined ? 'var(--ink)' : lineColour(line);
      return html`<span
        class="key ${hovered === form ? 'hovered' : ''}"
        @pointerenter=${() => onHover(form)}
        @pointerleave=${() => onHover(undefined)}
        ><svg width="22" height="8" aria-hidden="true">
          <line
            x1="0"
            x2="22"
            y1="4"
            y2="4"
            .style="stroke: ${colour}; stroke-width: 2.5; stroke-dasharray: ${line === undefined ? 'none' : dashOf(line)}"
          ></line></svg
        >${name}</span
      >`;
    })}
  </div>`;
