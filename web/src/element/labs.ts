// SPDX-License-Identifier: MIT
// All labs, in the order of their tabs. The script of a lab is loaded when it is first opened.
import { html, type TemplateResult } from 'lit';
import type { Engine } from '../engine/engine.js';
import type { Lab } from '../state/state.js';
import type { Store } from '../state/store.js';

/** The properties that the explorer passes to a lab. */
export interface LabInputs {
  store: Store;
  engine: Engine | undefined;
  embed: boolean;
  brief: boolean;
  /** Whether the true p is hidden while the user guesses it. */
  secret: boolean;
}

interface Entry {
  title: string;
  load(): Promise<unknown>;
  show(inputs: LabInputs): TemplateResult;
}

export const all: Record<Lab, Entry> = {
  plane: {
    title: '2-D lab',
    load: () => import('../labs/plane/plane-lab.js'),
    show: ({ store, engine, embed, brief, secret }) =>
      html`<probust-plane-lab
        exportparts="picture, number, panel"
        .store=${store}
        .engine=${engine}
        ?embed=${embed}
        ?brief=${brief}
        ?secret=${secret}
      ></probust-plane-lab>`,
  },
  image: {
    title: 'Image lab',
    load: () => import('../labs/image/image-lab.js'),
    show: ({ store, engine, embed, brief }) =>
      html`<probust-image-lab
        exportparts="picture, number, panel"
        .store=${store}
        .engine=${engine}
        ?embed=${embed}
        ?brief=${brief}
      ></probust-image-lab>`,
  },
  dataset: {
    title: 'Data-set lab',
    load: () => import('../labs/dataset/dataset-lab.js'),
    show: ({ store, embed }) => html`<probust-dataset-lab .store=${store} ?embed=${embed}></probust-dataset-lab>`,
  },
  table: {
    title: 'Table lab',
    load: () => import('../labs/table/table-lab.js'),
    show: ({ store, engine, embed, brief }) =>
      html`<probust-table-lab
        exportparts="picture, number, panel"
        .store=${store}
        .engine=${engine}
        ?embed=${embed}
        ?brief=${brief}
      ></probust-table-lab>`,
  },
};
