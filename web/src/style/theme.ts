// SPDX-License-Identifier: MIT
// Colours and fonts as custom properties. Pages override them with the --probust-... properties.
import { css, unsafeCSS } from 'lit';

const okabeIto = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00'];
const classes = unsafeCSS(okabeIto.map((colour, i) => `--class-${i}: var(--probust-class-${i}, ${colour});`).join(' '));

/** Colours of chart lines, which differ from those of classes. Lines also differ by their dashes. */
const linesOf = (colours: string[]) => colours.map((colour, i) => `--line-${i}: ${colour};`).join(' ');

const light = unsafeCSS(`
  color-scheme: light;
  --paper: var(--probust-paper, #ffffff);
  --ink: var(--probust-ink, #1b1f24);
  --muted: var(--probust-muted, #5b6470);
  --line: var(--probust-line, #dfe3e8);
  --soft: var(--probust-soft, #f4f6f8);
  --accent: var(--probust-accent, #0072b2);
  --on-accent: #ffffff;
  --warm: #d55e00;
  --cold: #0072b2;
  ${linesOf(['#882255', '#117733', '#5b6470', '#332288', '#997700', '#0077aa', '#aa4499', '#cc3311'])}`);

const dark = unsafeCSS(`
  color-scheme: dark;
  --paper: var(--probust-paper, #14171a);
  --ink: var(--probust-ink, #e9ecef);
  --muted: var(--probust-muted, #a2abb5);
  --line: var(--probust-line, #33393f);
  --soft: var(--probust-soft, #1e2327);
  --accent: var(--probust-accent, #56b4e9);
  --on-accent: #10130f;
  --warm: #ff9b57;
  --cold: #67bdf0;
  ${linesOf(['#ee88bb', '#66cc88', '#a2abb5', '#aaaaff', '#ddcc77', '#88ccee', '#dd99dd', '#ff8866'])}`);

/** Styles for the host element. All descendants inherit them. */
export const themeStyles = css`
  :host {
    ${classes}
    ${light}
    --font: var(--probust-font, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif);
  }
  @media (prefers-color-scheme: dark) {
    :host(:not([theme='light'])) {
      ${dark}
    }
  }
  :host([theme='dark']) {
    ${dark}
  }
`;
