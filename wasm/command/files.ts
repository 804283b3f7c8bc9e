// SPDX-License-Identifier: MIT
// Reads models, points and noise from the files given to a command.
import { File } from 'node:buffer';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { unzipSync } from 'fflate';
import { readArray, readData, type CsvOptions, type PointData } from '../src/data.js';
import { unreadable, usage } from '../src/errors.js';
import type { NamedArray } from '../src/index.js';
import type { Given } from './options.js';

const labelArrays = ['y', 'labels', 'label', 'targets', 'target'];

export function fileNamed(path: string, hint: string): Uint8Array {
  if (!existsSync(path)) throw unreadable(`${path} cannot be opened`, 'check the path');
  if (statSync(path).isDirectory()) throw unreadable(`${path} is a folder`, hint);
  return readFileSync(path);
}

/** The points x and, if there are any, the labels y in a .npz file, each as the bytes of a .npy file. */
function arraysOf(bytes: Uint8Array, path: string): { x: Uint8Array; y?: Uint8Array | undefined } {
  const wanted = new Set(['x', ...labelArrays].map((name) => `${name}.npy`));
  let members: Record<string, Uint8Array>;
  try {
    members = unzipSync(bytes, { filter: ({ name }) => wanted.has(name) });
  } catch (error) {
    throw unreadable(`${path} is damaged (${(error as Error).message})`, 'write it with numpy.savez', error);
  }
  const x = members['x.npy'];
  if (!x) throw unreadable(`${path} has no array x`, 'write it with numpy.savez(path, x=points, y=labels)');
  return { x, y: labelArrays.map((name) => members[`${name}.npy`]).find((array) => array !== undefined) };
}

/** Wraps bytes as a file, so that error messages can name it. */
const named = (bytes: Uint8Array, name: string): Blob => new File([bytes as Uint8Array<ArrayBuffer>], name) as unknown as Blob;

const hint = 'give a .npy, .npz, IDX (.gz too) or .csv file; the native program also reads folders of images and CIFAR .bin';

export async function pointsOf(path: string, given: Given): Promise<PointData> {
  const bytes = fileNamed(path, hint);
  const column = given.text('label-column');
  const classes = given.text('classes') === undefined ? undefined : namesIn(given.text('classes')!);
  const labels = given.text('labels');
  const options: CsvOptions = {
    name: path,
    scale: given.number('scale'),
    limit: given.number('limit'),
    offset: given.number('offset'),
    ...(labels !== undefined && { labels: named(fileNamed(labels, hint), labels) }),
    ...(column !== undefined && { labelColumn: /^\d+$/.test(column) ? Number(column) : column }),
    classes,
  };
  const zipped = bytes[0] === 0x50 && bytes[1] === 0x4b;
  const { x, y } = zipped ? arraysOf(bytes, path) : { x: bytes };
  const data = await readData(x, { ...options, ...(y && !options.labels && { labels: named(y, `array y of ${path}`) }) });
  return classes ? { ...data, classNames: classes } : data;
}

function namesIn(path: string): string[] {
  const lines = new TextDecoder().decode(fileNamed(path, 'give a text file')).split(/\r?\n/);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

/** Reads the ONNX models that noise texts name with "transform:PATH". The keys of the result are the paths. */
export function transformsIn(noises: readonly string[]): Record<string, Uint8Array> {
  const paths = noises.flatMap((noise) => [...noise.matchAll(/(?:^|\+)transform:([^:+]+)/g)].map(([, path]) => path!));
  return Object.fromEntries(paths.map((path) => [path, fileNamed(path, 'give an ONNX model of x and z')]));
}

/** Reads the .npy files that the noise texts name. The keys of the result are the paths in these texts. */
export async function arraysIn(noises: readonly string[]): Promise<Record<string, NamedArray>> {
  const arrays: Record<string, NamedArray> = {};
  const others = noises.map((noise) => noise.replace(/(^|\+)transform:[^:+]+/g, '$1'));
  for (const [, path] of others.flatMap((noise) => [...noise.matchAll(/[=:]([^=:@+]+\.\w+)(?=$|[@+])/g)])) {
    if (path === undefined || !existsSync(path)) continue;
    if (!path.endsWith('.npy')) throw usage(`${path} is not a .npy file`, 'give one, or use the native program');
    arrays[path] = await readArray(path);
  }
  return arrays;
}
