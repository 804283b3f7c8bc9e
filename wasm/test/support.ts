// SPDX-License-Identifier: MIT
// Paths, the demo's model and points, and checks of errors.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inflateRawSync } from 'node:zlib';
import { expect } from 'vitest';
import type * as probust from '../../build/wasm/npm/types/index.js';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
/** The staged package, as it is published. */
export const staged = process.env.PROBUST_PACKAGE ?? join(root, 'build/wasm/npm');
export const digits = join(root, 'demos/digits/digits.onnx');
export const native = join(root, 'build/release/bin/probust');
export const shared = process.env.PROBUST_SHARED ?? join(root, '../shared');
export const hasShared = existsSync(join(shared, 'models'));

/** The output of a program. */
export const run = (command: string, args: string[], cwd: string): string =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

export type Library = typeof probust;
declare const importByNode: (url: string) => Promise<Library>; // load.mjs defines it
export const load = (file = 'probust.mjs'): Promise<Library> => importByNode(pathToFileURL(join(staged, file)).href);

/** The first array of a .npz file, which must contain bytes, as pixels in [0, 1]: the same values as on the command line. */
export function readPixels(path: string): Float32Array {
  const file = readFileSync(path);
  const body = file.subarray(30 + file.readUInt16LE(26) + file.readUInt16LE(28)).subarray(0, file.readUInt32LE(18));
  const npy = file.readUInt16LE(8) === 8 ? inflateRawSync(body) : body;
  return pixels(npy.subarray(10 + npy.readUInt16LE(8)));
}

/** Bytes times 1/255 in float32. */
export const pixels = (bytes: Uint8Array): Float32Array => Float32Array.from(bytes, (byte) => byte / 255);

const points = readPixels(join(root, 'demos/digits/points.npz'));
/** Points of the demo, which have 16 x 16 pixels each. */
export const point = (i: number, count = 1): Float32Array => points.slice(256 * i, 256 * (i + count));

/** The error that a promise rejects with. */
export async function errorOf(promise: Promise<unknown>): Promise<probust.ProbustError> {
  try {
    await promise;
  } catch (error) {
    return error as probust.ProbustError;
  }
  throw new Error('nothing was thrown');
}

/** Expects a call to be rejected with this code and a message of one line, and the next call of the model to succeed. */
export async function expectRefusal(
  kind: typeof probust.ProbustError,
  model: probust.Model,
  code: string,
  call: (model: probust.Model) => Promise<unknown>,
): Promise<void> {
  const error = await errorOf(call(model));
  expect(error).toBeInstanceOf(kind);
  expect(error.code).toBe(code);
  expect(error.message).toMatch(/^[^\n]+$/);
  expect((await model.estimate(point(0), { noise: 'gaussian:0.1', estimators: 'mc:10' }))[0]!.p).toBe(1);
}

/** The ways to run the library. */
export const everywhere: [string, probust.ProbustOptions][] = [
  ['in this thread', {}],
  ['in a worker', { worker: true }],
  ['in two workers', { threads: 2 }],
];
