// SPDX-License-Identifier: MIT
// Images: shapes, reading from files, encoding in links, and drawing with a pen.
import type { ModelInfo } from 'probust';

export interface Shape {
  channels: 1 | 3;
  height: number;
  width: number;
}

export interface Picture extends Shape {
  /** [channels, height, width] in [0, 1]. */
  values: Float32Array;
}

const sameShape = (a: Shape, b: Shape): boolean => a.channels === b.channels && a.height === b.height && a.width === b.width;

export const shapeWords = ({ channels, height, width }: Shape): string =>
  `${width} × ${height} pixels, ${channels === 1 ? 'grey' : 'red, green and blue'}`;

const isChannels = (extent: number | undefined): extent is 1 | 3 => extent === 1 || extent === 3;

/** A flat input is treated as a square image. */
function squareOf(elements: number): Shape | undefined {
  for (const channels of [1, 3] as const) {
    const side = Math.sqrt(elements / channels);
    if (Number.isInteger(side) && side >= 4) return { channels, height: side, width: side };
  }
  return undefined;
}

/** The shape of the image that a model expects; undefined if its input is not an image. */
export function shapeOf({ pointShape }: ModelInfo): Shape | undefined {
  const extents = pointShape.filter((extent) => extent !== 1);
  if (extents.length === 1) return squareOf(extents[0]!);
  if (extents.length === 2) return { channels: 1, height: extents[0]!, width: extents[1]! };
  const [first, second, third] = extents;
  if (extents.length !== 3) return undefined;
  if (isChannels(first)) return { channels: first, height: second!, width: third! };
  return isChannels(third) ? { channels: third, height: first!, width: second! } : undefined;
}

/** Whether the model's input is stored channels-last. */
export const channelsLast = ({ pointShape }: ModelInfo): boolean => pointShape.length === 3 && pointShape[2] === 3;

export const blank = (shape: Shape): Picture => ({
  ...shape,
  values: new Float32Array(shape.channels * shape.height * shape.width),
});

export const inverted = (picture: Picture): Picture => ({ ...picture, values: picture.values.map((value) => 1 - value) });

// Conversion to and from ImageData.

export function toImageData({ channels, height, width, values }: Picture): ImageData {
  const image = new ImageData(width, height);
  const area = height * width;
  for (let i = 0; i < area; ++i) {
    for (let c = 0; c < 3; ++c) image.data[4 * i + c] = Math.round(255 * values[(channels === 3 ? c * area : 0) + i]!);
    image.data[4 * i + 3] = 255;
  }
  return image;
}

/** Luminance with the weights of ITU-R BT.601; greys keep their value. */
const grey = (r: number, g: number, b: number) => Math.round(0.299 * r + 0.587 * g + 0.114 * b);

function fromImageData({ data, width, height }: ImageData, channels: 1 | 3): Picture {
  const picture = blank({ channels, height, width });
  const area = height * width;
  for (let i = 0; i < area; ++i) {
    const colour = [data[4 * i]!, data[4 * i + 1]!, data[4 * i + 2]!] as const;
    if (channels === 1) picture.values[i] = grey(...colour) / 255;
    else colour.forEach((value, c) => (picture.values[c * area + i] = value / 255));
  }
  return picture;
}

const canvasOf = (width: number, height: number): CanvasRenderingContext2D => {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [width, height];
  return canvas.getContext('2d', { willReadFrequently: true })!;
};

/** Scales the picture to cover another shape, and crops it around its centre. */
function cover(source: CanvasImageSource, from: { width: number; height: number }, shape: Shape): Picture {
  const ctx = canvasOf(shape.width, shape.height);
  const scale = Math.max(shape.width / from.width, shape.height / from.height);
  const [width, height] = [from.width * scale, from.height * scale];
  ctx.fillStyle = '#fff';
  ctx.fillRect(0, 0, shape.width, shape.height);
  ctx.imageSmoothingQuality = 'high';
  ctx.drawImage(source, (shape.width - width) / 2, (shape.height - height) / 2, width, height);
  return fromImageData(ctx.getImageData(0, 0, shape.width, shape.height), shape.channels);
}

/** The picture in the given shape; unchanged if it already has it. */
export function fitted(picture: Picture, shape: Shape): Picture {
  if (sameShape(picture, shape)) return picture;
  const ctx = canvasOf(picture.width, picture.height);
  ctx.putImageData(toImageData(picture), 0, 0);
  return cover(ctx.canvas, picture, shape);
}

export async function fromFile(file: Blob, shape: Shape): Promise<Picture> {
  const bitmap = await createImageBitmap(file, { colorSpaceConversion: 'none' });
  const picture = cover(bitmap, bitmap, shape);
  bitmap.close();
  return picture;
}

// Encoding in links: the shape, followed by bytes in base64. Runs of zeros are shortened, because a drawn digit is mostly black.

function packed(bytes: Uint8Array): number[] {
  const out: number[] = [];
  for (let i = 0; i < bytes.length;) {
    const start = i;
    while (i < bytes.length && bytes[i] === 0 && i - start < 255) ++i;
    if (i > start) out.push(0, i - start);
    else out.push(bytes[i++]!);
  }
  return out;
}

function unpacked(bytes: Uint8Array, length: number): Uint8Array | undefined {
  const out = new Uint8Array(length);
  let at = 0;
  for (let i = 0; i < bytes.length; ++i) {
    if (bytes[i] === 0) at += bytes[++i] ?? 0;
    else out[at++] = bytes[i]!;
  }
  return at === length ? out : undefined;
}

export function encode({ channels, height, width, values }: Picture): string {
  const bytes = Uint8Array.from(values, (value) => Math.round(255 * value));
  const text = packed(bytes).map((byte) => String.fromCharCode(byte));
  return `${channels}x${height}x${width}.${btoa(text.join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

function fromBase64(code: string): Uint8Array {
  try {
    return Uint8Array.from(atob(code.replaceAll('-', '+').replaceAll('_', '/')), (each) => each.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

const mostElements = 4 << 20;

/** The picture that the text encodes; undefined if there is none, because the link may have been edited. */
export function decode(text: string): Picture | undefined {
  const [, channels, height, width, code] = /^([13])x(\d{1,4})x(\d{1,4})\.([\w-]*)$/.exec(text) ?? [];
  if (code === undefined) return undefined;
  const shape = { channels: Number(channels) as 1 | 3, height: Number(height), width: Number(width) };
  const length = shape.channels * shape.height * shape.width;
  if (length === 0 || length > mostElements) return undefined;
  const bytes = unpacked(fromBase64(code), length);
  return bytes && { ...shape, values: Float32Array.from(bytes, (byte) => byte / 255) };
}

// The pen.

export type Point = readonly [x: number, y: number];

/** Draws a soft line between two points, given in pixels: bright, or dark to erase. */
export function stroked(picture: Picture, from: Point, to: Point, erase: boolean): Picture {
  const values = picture.values.slice();
  const { channels, height, width } = picture;
  const radius = (erase ? 0.08 : 0.045) * Math.max(height, width);
  const touched = (y: number, x: number) => Math.min(1, Math.max(0, radius + 0.5 - distance([x + 0.5, y + 0.5], from, to)));
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const ink = touched(y, x);
      if (ink === 0) continue;
      for (let c = 0; c < channels; ++c) {
        const at = (c * height + y) * width + x;
        values[at] = erase ? Math.min(values[at]!, 1 - ink) : Math.max(values[at]!, ink);
      }
    }
  }
  return { ...picture, values };
}

/** Distance of a point from a segment. */
function distance([x, y]: Point, [ax, ay]: Point, [bx, by]: Point): number {
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy;
  const t = length === 0 ? 0 : Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / length));
  return Math.hypot(x - ax - t * dx, y - ay - t * dy);
}
