// SPDX-License-Identifier: MIT
// The IDX format of MNIST: two zero bytes, a type, the number of axes, their extents (32 bits, big-endian), and the values.
// Results and errors are the same as on the command line (native/datasets/idx.cpp).
import { byteCount, denseArray, part, refuse, type ElementType, type StoredArray } from '../arrays.js';

const types: Record<number, [ElementType['kind'], number]> = {
  0x08: ['unsigned', 1],
  0x09: ['signed', 1],
  0x0b: ['signed', 2],
  0x0c: ['signed', 4],
  0x0d: ['floating', 4],
  0x0e: ['floating', 8],
};
const mostAxes = 8;

interface Header {
  type: ElementType;
  shape: number[];
  bytes: number;
}

function headerOf(bytes: Uint8Array, name: string): Header {
  const [first, second, code, axes] = part(bytes, 0, 4, name, 'an IDX header');
  const type = types[code!];
  if (first !== 0 || second !== 0 || !type || axes === 0 || axes! > mostAxes) {
    const hint = 'give images in IDX, .npy or .csv';
    return refuse(name, 'is not an IDX file: its first four bytes are wrong', hint);
  }
  const length = 4 + 4 * axes!;
  const extents = part(bytes, 0, length, name, 'its IDX header');
  const view = new DataView(extents.buffer, extents.byteOffset, length);
  const shape = Array.from({ length: axes! }, (_, k) => view.getUint32(4 + 4 * k));
  return { type: { kind: type[0], bytes: type[1], littleEndian: false }, shape, bytes: length };
}

/** Whether a file has an IDX header that declares exactly this many bytes. */
export function isIdx(bytes: Uint8Array): boolean {
  try {
    const { type, shape, bytes: header } = headerOf(bytes, '');
    return header + byteCount(shape, type.bytes, '') === bytes.length;
  } catch {
    return false;
  }
}

/** The array of an uncompressed IDX file. */
export function parseIdx(bytes: Uint8Array, name: string): StoredArray {
  const { type, shape, bytes: header } = headerOf(bytes, name);
  return denseArray(type, shape, false, bytes, header, name);
}

export const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

/** The contents of a gzip file. */
export async function gunzip(bytes: Uint8Array, name: string): Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream('gzip'));
  try {
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch (error) {
    const early = /terminated|incomplete|unexpected end|premature/i.test(String(error)) || bytes.length < 20;
    return early
      ? refuse(name, 'is truncated: its compressed data end too early', 'copy or download it again')
      : refuse(name, 'has damaged compressed data', 'copy or download it again');
  }
}
