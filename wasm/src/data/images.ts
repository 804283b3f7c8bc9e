// SPDX-License-Identifier: MIT
// Images as points. Gray levels, resizing and cropping are the same as on the command line (native/datasets/images/image.cpp and
// image_resize.cpp) and in Pillow.
import { refuse } from '../arrays.js';
import { usage } from '../errors.js';
import { isDeepPng, withoutExif } from './exif.js';

/** Pixels with red, green, blue and alpha values, row by row: an ImageData. */
export interface Pixels {
  width: number;
  height: number;
  data: Uint8ClampedArray | Uint8Array;
}

export interface ImageOptions {
  /** The number of channels: 3 (the default), or 1 for gray. Transparency is dropped. */
  channels?: 1 | 3 | undefined;
  /** The length of the shorter side after resizing, in pixels. */
  resize?: number | undefined;
  /** The side length of the central square to which images are cropped after resizing, in pixels. */
  crop?: number | undefined;
}

/** An image with 1 or 3 interleaved values per pixel. */
interface Image {
  width: number;
  height: number;
  channels: number;
  data: Uint8Array;
}

function withChannels({ width, height, data }: Pixels, channels: number, name: string): Image {
  if (!(width > 0) || !(height > 0) || data?.length !== 4 * width * height) {
    throw usage(`${name} is not an image`, 'give ImageData, or { width, height, data } with four bytes per pixel');
  }
  const out = new Uint8Array(channels * width * height);
  for (let i = 0; i < width * height; ++i) {
    const [r, g, b] = [data[4 * i]!, data[4 * i + 1]!, data[4 * i + 2]!];
    if (channels === 3) out.set([r, g, b], 3 * i);
    else out[i] = (r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16; // Pillow's conversion
  }
  return { width, height, channels, data: out };
}

const fractionBits = 22;

/** Output pixel i is the sum of weights[i][k] times input pixel first[i] + k. */
interface Filter {
  first: number[];
  weights: Int32Array[];
}

/** Rounds half away from zero, as in C. */
const rounded = (value: number): number => Math.sign(value) * Math.floor(Math.abs(value) + 0.5);

/** The triangle filter. Its half width is the size of an output pixel in input pixels, but at least 1. */
function triangle(length: number, out: number): Filter {
  const scale = length / out;
  const support = Math.max(scale, 1);
  const filter: Filter = { first: [], weights: [] };
  for (let i = 0; i < out; ++i) {
    const centre = (i + 0.5) * scale;
    const first = Math.max(0, rounded(centre - support));
    const count = Math.min(length, rounded(centre + support)) - first;
    const exact = Array.from({ length: count }, (_, k) => Math.max(0, 1 - Math.abs((first + k - centre + 0.5) / support)));
    const sum = exact.reduce((all, weight) => all + weight, 0);
    filter.first.push(first);
    filter.weights.push(Int32Array.from(exact, (weight) => rounded((weight / sum) * 2 ** fractionBits)));
  }
  return filter;
}

/** Filters one line of pixels, which are `step` values apart. A pixel consists of `width` consecutive values. */
function filterLine({ first, weights }: Filter, from: Uint8Array, step: number, width: number, out: Uint8Array): void {
  let at = 0;
  weights.forEach((own, i) => {
    for (let c = 0; c < width; ++c) {
      let sum = 2 ** (fractionBits - 1);
      for (let k = 0; k < own.length; ++k) sum += own[k]! * from[(first[i]! + k) * step + c]!;
      out[at++] = Math.min(255, Math.max(0, sum >> fractionBits));
    }
  });
}

function withWidth(image: Image, width: number): Image {
  if (width === image.width) return image;
  const { height, channels } = image;
  const data = new Uint8Array(width * height * channels);
  const filter = triangle(image.width, width);
  const [from, to] = [image.width * channels, width * channels];
  for (let row = 0; row < height; ++row) {
    const own = image.data.subarray(row * from, (row + 1) * from);
    filterLine(filter, own, channels, channels, data.subarray(row * to, (row + 1) * to));
  }
  return { ...image, width, data };
}

/** Filters all columns at once: the values of an image row are treated as one wide pixel. */
function withHeight(image: Image, height: number): Image {
  if (height === image.height) return image;
  const row = image.width * image.channels;
  const data = new Uint8Array(height * row);
  filterLine(triangle(image.height, height), image.data, row, row, data);
  return { ...image, height, data };
}

/** Scales the shorter side to `side` pixels and the longer side in proportion, rounded down. */
function resized(image: Image, side: number): Image {
  const shorter = Math.min(image.width, image.height);
  const [width, height] = [image.width, image.height].map((length) => Math.floor((side * length) / shorter)) as [number, number];
  return withHeight(withWidth(image, width), height);
}

/** The number of pixels to crop before a square of this side; halves are rounded to even. */
function margin(length: number, side: number): number {
  const half = (length - side) / 2;
  return Number.isInteger(half) ? half : 2 * Math.round(half / 2);
}

function cropped(image: Image, side: number, name: string): Image {
  const { width, height, channels } = image;
  if (width < side || height < side) {
    refuse(name, `has ${width} x ${height} pixels, which is less than crop ${side}`, 'also use resize');
  }
  const [left, top] = [margin(width, side), margin(height, side)];
  const data = new Uint8Array(side * side * channels);
  for (let y = 0; y < side; ++y) {
    const from = ((top + y) * width + left) * channels;
    data.set(image.data.subarray(from, from + side * channels), y * side * channels);
  }
  return { width: side, height: side, channels, data };
}

const mostSide = 16384;

function requireSide(option: string, side: number | undefined): void {
  if (side === undefined || (Number.isInteger(side) && side >= 1 && side <= mostSide)) return;
  throw usage(`${option} is not a number of pixels from 1 to ${mostSide}`, 'try 224');
}

/** Points [N, channels, height, width] in [0, 1]; all images must have the same size after resizing. */
export function pointsOfImages(
  images: readonly Pixels[],
  names: readonly string[],
  { channels = 3, resize, crop }: ImageOptions,
): { x: Float32Array; pointShape: number[] } {
  if (channels !== 1 && channels !== 3) throw usage(`channels is ${String(channels)}`, 'give 1 or 3');
  requireSide('resize', resize);
  requireSide('crop', crop);
  if (resize !== undefined && crop !== undefined && crop > resize) {
    throw usage(`crop is larger than the shorter side of the resized images, ${resize}`, `give at most ${resize}`);
  }
  const made = images.map((image, i) => {
    const own = withChannels(image, channels, names[i]!);
    const fitting = resize === undefined ? own : resized(own, resize);
    return crop === undefined ? fitting : cropped(fitting, crop, names[i]!);
  });
  const { width, height } = made[0]!;
  const odd = made.findIndex((image) => image.width !== width || image.height !== height);
  if (odd >= 0) {
    const what = `has ${made[odd]!.width} x ${made[odd]!.height} pixels, but ${names[0]} has ${width} x ${height}`;
    refuse(names[odd]!, what, 'use resize and crop to give all images the same size');
  }
  const area = width * height;
  const x = new Float32Array(made.length * channels * area);
  made.forEach(({ data }, n) => {
    for (let i = 0; i < area; ++i) {
      for (let c = 0; c < channels; ++c) x[(n * channels + c) * area + i] = data[i * channels + c]! * (1 / 255);
    }
  });
  return { x, pointShape: [channels, height, width] };
}

/**
 * Decodes an image file in the browser, without colour management or rotation. `turned`: whether the file asks for a rotation.
 */
export async function decodeImage(file: Blob, name: string): Promise<{ pixels: Pixels; turned: boolean }> {
  if (typeof createImageBitmap !== 'function' || typeof OffscreenCanvas === 'undefined') {
    throw usage(`${name} cannot be decoded here`, 'give { width, height, data } of its pixels');
  }
  const options: ImageBitmapOptions = { colorSpaceConversion: 'none', premultiplyAlpha: 'none' };
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (isDeepPng(bytes)) refuse(name, 'has 16 bits per value, of which browsers keep 8', 'give the values as a .npy file');
  const { parts, turned } = withoutExif(bytes);
  const stored = new Blob(parts as BlobPart[], { type: file.type });
  const bitmap = await createImageBitmap(stored, options).catch((error: unknown) =>
    refuse(name, `cannot be decoded: ${String(error)}`, 'copy or save it again'),
  );
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext('2d')!;
  context.drawImage(bitmap, 0, 0);
  return { pixels: context.getImageData(0, 0, bitmap.width, bitmap.height), turned };
}
