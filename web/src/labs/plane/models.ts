// SPDX-License-Identifier: MIT
// Networks that were trained before; scripts/make-models.mjs makes them.
import type { View } from '../../draw/view.js';

/** All data sets fit in it. */
export const view: View = { cx: 0, cy: 0, reach: 1.6 };

export interface Pretrained {
  title: string;
  url: URL;
}

export const pretrained: Record<string, Pretrained> = {
  three: { title: 'three arms', url: new URL('../../../models/three.onnx', import.meta.url) },
};

export async function bytesOf(url: string | URL, signal: AbortSignal): Promise<Uint8Array> {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new Error(`There is no model at ${url} (${response.status}).`);
  return new Uint8Array(await response.arrayBuffer());
}
