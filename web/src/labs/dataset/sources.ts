// SPDX-License-Identifier: MIT
// The points and networks that are included in the data-set lab.
import type { Labels, Probust } from 'probust';
import digitsUrl from '../../../models/digits.onnx?url';
import type { DataSource, State } from '../../state/state.js';
import { pixelUnit } from '../controls.js';
import { bytesOf } from '../../engine/files.js';

/** Points for which to estimate p. */
export interface Points {
  /** A noun for the points, such as "generated digits" in "500 generated digits". */
  noun: string;
  x: Float32Array;
  labels: Labels | undefined;
  pointShape: number[];
  /** Each point as text; if undefined, its numbers are shown. */
  words?: string[];
}

export type Asked = Readonly<Pick<State, 'dataSource' | 'dataCount' | 'dataSigma' | 'dataSeed'>>;

interface Source {
  title: string;
  /** The unit of sigma. */
  unit: string;
  /** Names of the classes; if undefined, their numbers are shown. */
  classNames: string[] | undefined;
  /** Whether any number of points can be generated. */
  generated: boolean;
  points(asked: Asked, probust: Probust, signal: AbortSignal): Promise<Points>;
  network(signal: AbortSignal): Promise<Uint8Array>;
}

/** Digits that the network was not trained on: the training script uses the seeds 0 and 1. */
const digitSeed = 500;

/** Loads the table lab's module, which has the tables and their models; the other sources do not need it. */
const tableLab = () => import('../../tables/tables.js');

export const sources: Record<DataSource, Source> = {
  digits: {
    title: 'generated digits',
    unit: pixelUnit,
    classNames: undefined,
    generated: true,
    async points({ dataCount, dataSeed }, probust, signal) {
      const made = await probust.data.digits({ count: dataCount, seed: digitSeed + dataSeed, signal });
      return { noun: 'generated digits', x: made.x, labels: Array.from(made.labels), pointShape: made.pointShape };
    },
    network: (signal) => bytesOf(digitsUrl, signal),
  },
  iris: {
    title: 'Iris',
    unit: 'standard deviations of each column',
    classNames: ['setosa', 'versicolor', 'virginica'],
    generated: false,
    async points() {
      const { encoded, inputsOf, tables } = await tableLab();
      const { columns, rows } = tables.iris;
      const inputs = inputsOf(tables.iris, 'network');
      return {
        noun: 'Iris points',
        x: Float32Array.from(rows.flatMap(({ values }) => encoded(tables.iris, inputs, values))),
        labels: rows.map(({ label }) => label),
        pointShape: [columns.length],
        words: rows.map(({ values }) => `${values.join(' · ')} cm`),
      };
    },
    network: async () => (await tableLab()).tables.iris.models.network,
  },
};
