// SPDX-License-Identifier: MIT
// Reads numbers of any stored type from .npy and IDX files. Results and errors are the same as on the command line
// (native/datasets/array.cpp).
import { unreadable } from './errors.js';

/** Throws the error for an unusable data file: "name what; hint", such as "x.npy has no rows; give at least one point". */
export function refuse(name: string, what: string, hint?: string): never {
  throw unreadable(`${name} ${what}`, hint);
}

/** How one number is stored. */
export interface ElementType {
  kind: 'unsigned' | 'signed' | 'floating';
  bytes: number;
  littleEndian: boolean;
}

/** Numbers as stored in a file. `bytes` has exactly as many bytes as the type and shape require. */
export interface StoredArray {
  type: ElementType;
  shape: number[];
  columnMajor: boolean;
  bytes: Uint8Array;
}

export const shapeText = (shape: readonly number[]): string => `[${shape.join(', ')}]`;

/** Returns `count` bytes from position `at`. Throws an error if the file is too short. */
export function part(bytes: Uint8Array, at: number, count: number, name: string, what: string): Uint8Array {
  if (at + count <= bytes.length) return bytes.subarray(at, at + count);
  return refuse(name, `is truncated: it has ${bytes.length} bytes, but ${what} needs ${at + count}`);
}

/** The number of bytes of an array with this shape. */
export function byteCount(shape: readonly number[], elementBytes: number, name: string): number {
  const product = shape.reduce((all, extent) => all * Math.max(1, extent), elementBytes);
  if (shape.some((extent) => extent < 0) || product > 2 ** 62) {
    refuse(name, `has an invalid shape ${shapeText(shape)}`, 'save the data again');
  }
  return shape.includes(0) ? 0 : product;
}

/** The bytes from position `header` as an array. */
export function denseArray(
  type: ElementType,
  shape: number[],
  columnMajor: boolean,
  bytes: Uint8Array,
  header: number,
  name: string,
): StoredArray {
  const needed = header + byteCount(shape, type.bytes, name);
  if (bytes.length !== needed) {
    const fault = bytes.length < needed ? 'is truncated' : 'is too long';
    refuse(name, `${fault}: it has ${bytes.length} bytes, but its shape ${shapeText(shape)} needs ${needed}`);
  }
  return { type, shape, columnMajor, bytes: bytes.subarray(header) };
}

/** The number that these bits represent in IEEE 754 binary16. */
function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (fraction + 1024) * 2 ** (exponent - 25));
}

/** A function that reads the number at a given byte of `view`. */
function readerOf({ kind, bytes, littleEndian }: ElementType, view: DataView): (at: number) => number {
  const readers: Record<string, (at: number) => number> = {
    unsigned1: (at) => view.getUint8(at),
    unsigned2: (at) => view.getUint16(at, littleEndian),
    unsigned4: (at) => view.getUint32(at, littleEndian),
    unsigned8: (at) => Number(view.getBigUint64(at, littleEndian)),
    signed1: (at) => view.getInt8(at),
    signed2: (at) => view.getInt16(at, littleEndian),
    signed4: (at) => view.getInt32(at, littleEndian),
    signed8: (at) => Number(view.getBigInt64(at, littleEndian)),
    floating2: (at) => half(view.getUint16(at, littleEndian)),
    floating4: (at) => view.getFloat32(at, littleEndian),
    floating8: (at) => view.getFloat64(at, littleEndian),
  };
  return readers[`${kind}${bytes}`]!;
}

/** The stride of each axis: the distance in the file, in elements, between adjacent elements along the axis. */
function stridesOf({ shape, columnMajor }: StoredArray): number[] {
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (let k = 0; k < shape.length; ++k) {
    const axis = columnMajor ? k : shape.length - 1 - k;
    strides[axis] = step;
    step *= shape[axis]!;
  }
  return strides;
}

/** Calls `visit` for every number in row-major order. */
export function forEachNumber(array: StoredArray, visit: (value: number, position: number) => void): void {
  const { bytes, type, shape } = array;
  const read = readerOf(type, new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const count = bytes.length / type.bytes;
  if (!array.columnMajor) {
    for (let k = 0; k < count; ++k) visit(read(k * type.bytes), k);
    return;
  }
  const strides = stridesOf(array);
  for (let k = 0; k < count; ++k) {
    let at = 0;
    for (let axis = shape.length - 1, rest = k; axis >= 0; --axis) {
      at += (rest % shape[axis]!) * strides[axis]!;
      rest = Math.floor(rest / shape[axis]!);
    }
    visit(read(at * type.bytes), k);
  }
}

/** All numbers times `scale`, each rounded once to float32. */
export function floatsOf(array: StoredArray, scale: number): Float32Array {
  const values = new Float32Array(array.bytes.length / array.type.bytes);
  forEachNumber(array, (value, k) => {
    values[k] = value * scale;
  });
  return values;
}

/** An array [N] (or [N, 1, ...]) of whole numbers. */
export function labelsOf(array: StoredArray, name: string): number[] {
  const hint = 'give one whole number per row';
  if (array.shape.length === 0 || array.shape.slice(1).some((extent) => extent !== 1)) {
    refuse(name, `has shape ${shapeText(array.shape)}, but labels have shape [N]`, hint);
  }
  const labels: number[] = [];
  forEachNumber(array, (value) => {
    if (!Number.isSafeInteger(value)) refuse(`label ${labels.length} of ${name}`, 'is not a whole number', hint);
    labels.push(value);
  });
  return labels;
}
