// SPDX-License-Identifier: MIT
// Pretrained networks, which scripts/make-models.mjs creates.
import moonsUrl from '../../../models/moons.onnx?url';
import sixUrl from '../../../models/six.onnx?url';
import three from '../../../models/three.onnx?inline';
import type { View } from '../../draw/view.js';
import type { State } from '../../state/state.js';
import { bytesOf } from '../../engine/files.js';

/** A view that shows all data sets completely. */
export const view: View = { cx: 0, cy: 0, reach: 1.6 };

export interface Pretrained {
  title: string;
  /** Reads the ONNX file. */
  read(signal: AbortSignal): Promise<Uint8Array>;
  /** The data on which the network was trained. */
  data: Pick<State, 'data' | 'classes' | 'trainSeed'>;
}

/** The bytes of a data URL, which strict policies do not let a page fetch. */
const inlined = (url: string): Uint8Array => Uint8Array.from(atob(url.slice(url.indexOf(',') + 1)), (each) => each.charCodeAt(0));

export const pretrained: Record<string, Pretrained> = {
  three: {
    title: 'three arms',
    // The network is inlined, so that the first picture needs no request for it.
    read: () => Promise.resolve(inlined(three)),
    data: { data: 'spirals', classes: 3, trainSeed: 0 },
  },
  moons: {
    title: 'moons',
    read: (signal) => bytesOf(moonsUrl, signal),
    data: { data: 'moons', classes: 2, trainSeed: 0 },
  },
  six: {
    title: 'six clouds',
    read: (signal) => bytesOf(sixUrl, signal),
    data: { data: 'blobs', classes: 6, trainSeed: 0 },
  },
};
