// SPDX-License-Identifier: MIT
// Pretrained networks, made by scripts/make-models.mjs.
import type { View } from '../../draw/view.js';
import type { State } from '../../state/state.js';

/** Shows all data sets completely. */
export const view: View = { cx: 0, cy: 0, reach: 1.6 };

export interface Pretrained {
  title: string;
  url: URL;
  /** What it was trained on. */
  data: Pick<State, 'data' | 'classes' | 'trainSeed'>;
}

export const pretrained: Record<string, Pretrained> = {
  three: {
    title: 'three arms',
    url: new URL('../../../models/three.onnx', import.meta.url),
    data: { data: 'spirals', classes: 3, trainSeed: 0 },
  },
  moons: {
    title: 'moons',
    url: new URL('../../../models/moons.onnx', import.meta.url),
    data: { data: 'moons', classes: 2, trainSeed: 0 },
  },
  six: {
    title: 'six clouds',
    url: new URL('../../../models/six.onnx', import.meta.url),
    data: { data: 'blobs', classes: 6, trainSeed: 0 },
  },
};
