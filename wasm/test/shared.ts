// SPDX-License-Identifier: MIT
// The models in the shared folder, with their data.
import { openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { ModelOptions } from '../../build/wasm/npm/types/index.js';
import { pixels, shared } from './support.js';

/** Number of points. */
export const count = 3;
export const dataPath = (data: string): string => join(shared, 'data', data);

const normal = { mean: [0.4914, 0.4822, 0.4465], std: [0.2471, 0.2435, 0.2616] };
const mnist = 'mnist-test-open-images-idx3-ubyte.gz';
const fashion = 'fashion-test-open-images-idx3-ubyte.gz';
const cifar = 'cifar10-lossless-test-open.bin';

export interface Case {
  model: string;
  data: string;
  options: ModelOptions;
}
export const cases: Case[] = [
  { model: 'mnistfc_256x4', data: mnist, options: {} },
  { model: 'eran_mnist_sigmoid_6x200', data: mnist, options: {} },
  { model: 'lazybogdi_fashion', data: fashion, options: { mean: [0.5], std: [0.5] } },
  { model: 'cifar10_resnet_2b', data: cifar, options: normal },
  { model: 'marabou_cifar10_small', data: cifar, options: { shape: [3, 32, 32] } },
];

/** The first points of a data set, as pixels. */
export function readImages(data: string): Float32Array {
  const path = dataPath(data);
  if (path.endsWith('.gz')) return pixels(gunzipSync(readFileSync(path)).subarray(16, 16 + count * 784));
  const rows = Buffer.alloc(count * 3073);
  readSync(openSync(path, 'r'), rows);
  return pixels(Buffer.concat(Array.from({ length: count }, (_, i) => rows.subarray(3073 * i + 1, 3073 * (i + 1)))));
}
