// SPDX-License-Identifier: MIT
// Pretrained networks, made by scripts/make-models.mjs.
import moons from '../../../models/moons.onnx?inline';
import six from '../../../models/six.onnx?inline';
import three from '../../../models/three.onnx?inline';
import type { View } from '../../draw/view.js';
import type { State } from '../../state/state.js';

/** Shows all data sets completely. */
export const view: View = { cx: 0, cy: 0, reach: 1.6 };

export interface Pretrained {
  title: string;
  /** The ONNX file, which takes no request of its own. */
  bytes: Uint8Array;
  /** What it was trained on. */
  data: Pick<State, 'data' | 'classes' | 'trainSeed'>;
}

/** The bytes of a data URL, which strict policies do not let a page fetch. */
const bytesOf = (url: string): Uint8Array => Uint8Array.from(atob(url.slice(url.indexOf(',') + 1)), (each) => each.charCodeAt(0));

export const pretrained: Record<string, Pretrained> = {
  three: {
    title: 'three arms',
    bytes: bytesOf(three),
    data: { data: 'spirals', classes: 3, trainSeed: 0 },
  },
  moons: {
    title: 'moons',
    bytes: bytesOf(moons),
    data: { data: 'moons', classes: 2, trainSeed: 0 },
  },
  six: {
    title: 'six clouds',
    bytes: bytesOf(six),
    data: { data: 'blobs', classes: 6, trainSeed: 0 },
  },
};
