// SPDX-License-Identifier: MIT
// `probust/data`: data sets from files (.npy, .csv, IDX, images), reading and writing rows, and noise from a function. Points and
// labels are identical to those that the command line reads from the same file.
import { floatsOf, forEachNumber, labelsOf, refuse, type StoredArray } from './arrays.js';
import { optionsOf, type Names } from './arguments.js';
import { parseCsv, parseLabelLines } from './data/csv.js';
import { classLabels, type StoredLabels } from './data/text-labels.js';
import { unreadable, usage } from './errors.js';
import { gunzip, isGzip, isIdx, parseIdx } from './data/idx.js';
import { decodeImage, pointsOfImages, type ImageOptions, type Pixels } from './data/images.js';
import { isNpy, parseNpy, parseNpyLabels } from './data/npy.js';
import { readModel } from './platform.js';
import { parseRows } from './data/rows.js';
import { elementCount } from './shape.js';
import type { ModelSource, NamedArray, Numbers, Row } from './types.js';

/** A source of data: bytes, a path or URL, a response, or a file that the user chose. */
export type DataSource = ModelSource;

/** Points, with their labels and other properties. */
export interface PointData {
  /** The points [N, ...pointShape], row-major. */
  x: Float32Array;
  /** The labels [N], if there are any. */
  labels?: Int32Array;
  /** Class names of text labels, by class number: in sorted order, or in that of the option `classes`. */
  classNames?: string[];
  /** The shape of one point, such as [3, 32, 32]. */
  pointShape: number[];
  /** The position of the first point in the file, for the option `index` of `estimate`. */
  index: number;
  /** Uncertain decisions that were made while reading, one line each: headers, skipped columns, rotated images. */
  notes?: string[];
}

export interface ReadOptions {
  /** The name of the data in errors; by default, the file name or the address. */
  name?: string | undefined;
  /** A .npy, IDX or text file with the labels, as numbers or texts. */
  labels?: DataSource | undefined;
  /**
   * Class names in the order of the model's classes, for numbering text labels. By default, they are numbered in sorted order.
   */
  classes?: readonly string[] | undefined;
  /** A factor for the stored values; 1/255 by default for bytes, 1 otherwise. */
  scale?: number | undefined;
  /** The largest number of points to read; all by default. */
  limit?: number | undefined;
  /** The number of points to skip; 0 by default. */
  offset?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface CsvOptions extends ReadOptions {
  /** The column of labels: its number, counted from 0, its name in the first row, 'last' (the default) or 'none'. */
  labelColumn?: number | string | undefined;
}

const names: Names<CsvOptions> = {
  ...{ name: true, labels: true, scale: true, limit: true, offset: true, signal: true, labelColumn: true, classes: true },
};

/** The name of a source in errors. */
function nameOf(source: DataSource, given: string | undefined, otherwise: string): string {
  if (given !== undefined) return given;
  if (typeof source === 'string' || source instanceof URL) return String(source).split('/').at(-1) || otherwise;
  return (source as { name?: string })?.name || otherwise;
}

const formats = 'give a .npy, IDX (.gz too) or .csv file';

/** Other file formats that may be given by mistake, by their first bytes. */
const foreign: readonly [string, string][] = [
  ['\x89PNG', 'a PNG image'],
  ['\xff\xd8\xff', 'a JPEG image'],
  ['GIF8', 'a GIF image'],
  ['%PDF-', 'a PDF document'],
  ['\x89HDF', 'an HDF5 file'],
  ['SQLite format 3', 'a SQLite file'],
  ['PK\x03\x04', 'a .npz or .zip archive'],
  ['\xfd7zXZ', 'an xz archive'],
  ['BZh', 'a bzip2 archive'],
  ['7z\xbc\xaf', 'a 7z archive'],
  ['PAR1', 'a Parquet file'],
  ['\x80\x04\x95', 'a Python pickle'],
];

const begins = (bytes: Uint8Array, magic: string): boolean => [...magic].every((c, i) => bytes[i] === c.charCodeAt(0));

function refuseForeign(bytes: Uint8Array, name: string): void {
  for (const [magic, what] of foreign) if (begins(bytes, magic)) refuse(name, `is ${what}, not data`, formats);
}

/** The bytes of a source, which may be gzipped. */
async function bytesOf(source: DataSource, name: string, signal: AbortSignal | undefined): Promise<Uint8Array> {
  const bytes = await readModel(source, signal, name);
  if (bytes.length === 0) refuse(name, 'is empty', formats);
  return isGzip(bytes) ? gunzip(bytes, name) : bytes;
}

function checkNumbers({ scale, offset = 0, limit = Infinity }: ReadOptions): void {
  if (scale !== undefined && (!Number.isFinite(scale) || scale === 0)) {
    throw usage('scale is zero or not finite', 'try 0.00392');
  }
  if (!Number.isInteger(offset) || offset < 0) throw usage('offset is not a whole number of at least 0', 'give 0 or more');
  if (limit !== Infinity && (!Number.isInteger(limit) || limit < 1)) {
    throw usage('limit is not a whole number of at least 1', 'give 1 or more');
  }
}

/** Labels from another file. */
async function labelsFrom(source: DataSource, signal: AbortSignal | undefined): Promise<{ stored: StoredLabels; name: string }> {
  const name = nameOf(source, undefined, 'labels');
  const bytes = await bytesOf(source, name, signal);
  if (isNpy(bytes)) return { stored: parseNpyLabels(bytes, name), name };
  if (isIdx(bytes)) return { stored: { numbers: labelsOf(parseIdx(bytes, name), name) }, name };
  return { stored: parseLabelLines(bytes, name), name };
}

/** All points of a file, before some of them are selected. */
interface Contents {
  x: Float32Array;
  count: number;
  pointShape: number[];
  labels?: number[] | undefined;
  classNames?: string[] | undefined;
  notes?: string[];
}

/**
 * If there is one label more than points, and the first is a word that occurs only once, it is the name of the column and is
 * removed.
 */
function withoutHeader(stored: StoredLabels, count: number): StoredLabels {
  const { texts = [] } = stored;
  const extra = texts.length > 2 && texts.length === count + 1 && !texts.includes(texts[0]!, 1);
  return extra ? { texts: texts.slice(1) } : stored;
}

async function chosen(contents: Contents, name: string, options: ReadOptions): Promise<PointData> {
  const { offset = 0, limit = Infinity } = options;
  let { labels, classNames } = contents;
  const { count, pointShape, notes = [] } = contents;
  if (options.labels != null) {
    const other = await labelsFrom(options.labels, options.signal);
    ({ labels, classNames } = classLabels(withoutHeader(other.stored, count), options.classes, other.name));
    if (labels.length !== count) {
      refuse(other.name, `has ${labels.length} labels for ${count} points`, 'give one label per point');
    }
  }
  if (offset >= count) {
    refuse(name, `has ${count} rows, but offset is ${offset}`, `give an offset from 0 to ${count - 1}`);
  }
  const end = Math.min(count, offset + limit);
  const size = elementCount(pointShape);
  const data: PointData = { x: contents.x.slice(offset * size, end * size), pointShape, index: offset };
  if (labels) data.labels = Int32Array.from(labels.slice(offset, end));
  if (classNames) data.classNames = classNames;
  if (notes.length > 0) data.notes = notes;
  return data;
}

/** The points of an array: its first axis counts them. */
function pointsOf(array: StoredArray, scale: number | undefined, name: string): Contents {
  const { shape, type } = array;
  if (shape.length === 0) refuse(name, 'has a single number', 'give an array whose first axis counts the points');
  if (shape[0] === 0) refuse(name, 'has no rows', 'give at least one point');
  if (shape.includes(0)) {
    refuse(name, `has points without values: its shape is [${shape.join(', ')}]`, 'give at least one value per point');
  }
  const byte = type.kind === 'unsigned' && type.bytes === 1;
  return { x: floatsOf(array, scale ?? (byte ? 1 / 255 : 1)), count: shape[0]!, pointShape: shape.slice(1) };
}

/** Adds a channel axis, which images in IDX files lack. */
function withChannel(array: StoredArray, name: string): StoredArray {
  const { shape } = array;
  if (shape.length === 1) {
    refuse(name, 'has one number per row, like a file of labels', 'give the file of points');
  }
  return shape.length === 3 ? { ...array, shape: [shape[0]!, 1, shape[1]!, shape[2]!] } : array;
}

type Parse = (bytes: Uint8Array, name: string, options: CsvOptions) => Contents;

async function read(where: string, source: DataSource, given: CsvOptions, parse: Parse): Promise<PointData> {
  const options = optionsOf(where, given, names);
  checkNumbers(options);
  const name = nameOf(source, options.name, 'data');
  const bytes = await bytesOf(source, name, options.signal);
  return chosen(parse(bytes, name, options), name, options);
}

const npyPoints: Parse = (bytes, name, { scale }) => pointsOf(parseNpy(bytes, name), scale, name);
const idxPoints: Parse = (bytes, name, { scale }) => pointsOf(withChannel(parseIdx(bytes, name), name), scale, name);
const csvPoints: Parse = (bytes, name, { scale = 1, labelColumn = 'last', classes }) => {
  const { values, features, ...table } = parseCsv(bytes, labelColumn, name, classes);
  return { x: Float32Array.from(values, (value) => value * scale), pointShape: [features], ...table };
};

/** Reads a .npy file with an array [N, ...]. */
export const readNpy = (source: DataSource, options: ReadOptions = {}): Promise<PointData> =>
  read('readNpy', source, options, npyPoints);

/** Reads an IDX file, such as MNIST's images, which may be gzipped. */
export const readIdx = (source: DataSource, options: ReadOptions = {}): Promise<PointData> =>
  read('readIdx', source, options, idxPoints);

/** Reads a .csv file with one point per row and a column of labels. */
export const readCsv = (source: DataSource, options: CsvOptions = {}): Promise<PointData> =>
  read('readCsv', source, options, csvPoints);

/** Reads a .npy, IDX or .csv file; its content determines the format. */
export const readData = (source: DataSource, options: CsvOptions = {}): Promise<PointData> =>
  read('readData', source, options, (bytes, name, given) => {
    refuseForeign(bytes, name);
    const parse = isNpy(bytes) ? npyPoints : isIdx(bytes) ? idxPoints : csvPoints;
    return parse(bytes, name, given);
  });

/** Reads an array of numbers for noise, as in `arrays: { name: await readArray('cov.npy') }`. */
export async function readArray(source: DataSource, signal?: AbortSignal): Promise<NamedArray> {
  const name = nameOf(source, undefined, 'array');
  const array = parseNpy(await bytesOf(source, name, signal), name);
  const data = new Float64Array(array.bytes.length / array.type.bytes);
  forEachNumber(array, (value, k) => {
    data[k] = value;
  });
  return { data, shape: array.shape };
}

const imageNames: Names<ImageOptions> = { channels: true, resize: true, crop: true };

/**
 * Converts images to points [N, channels, height, width] in [0, 1]. An image is an ImageData, or a file, which the browser
 * decodes. Gray levels, resizing and cropping are the same as on the command line.
 */
export async function readImages(images: readonly (Pixels | Blob)[], options: ImageOptions = {}): Promise<PointData> {
  const given = optionsOf('readImages', options, imageNames);
  if (!Array.isArray(images) || images.length === 0) throw usage('images are missing', 'give a list of images');
  const called = images.map((image, i) => (image as { name?: string })?.name ?? `image ${i}`);
  const decoded = await Promise.all(
    images.map((image, i) =>
      image instanceof Blob ? decodeImage(image, called[i]!) : { pixels: image as Pixels, turned: false },
    ),
  );
  const turned = called.filter((_, i) => decoded[i]!.turned);
  const note =
    `the EXIF orientation of ${turned.length} ${turned.length === 1 ? 'image' : 'images'} is ignored (the first is ${turned[0]}); ` +
    'rotate the images if the model was trained on upright ones';
  const pixels = decoded.map((image) => image.pixels);
  return { ...pointsOfImages(pixels, called, given), index: 0, ...(turned.length > 0 && { notes: [note] }) };
}

/**
 * Fills an array with `count` deviations: `draw(i)` returns the i-th deviation, one number for each element of a point. With
 * `{ noise: 'samples:mine', arrays: { mine: deviations(5000, 256, draw) } }`, a noisy sample is x plus one of the deviations,
 * which are all equally likely.
 */
export function deviations(count: number, elements: number, draw: (i: number) => Numbers): NamedArray {
  for (const [name, value] of Object.entries({ count, elements })) {
    if (!Number.isInteger(value) || value < 1) throw usage(`${name} is ${value}`, 'give a whole number of at least 1');
  }
  if (typeof draw !== 'function') throw usage('draw is not a function', 'give a function of the index of the draw');
  const data = new Float32Array(count * elements);
  for (let i = 0; i < count; ++i) {
    const one = draw(i);
    if (one?.length !== elements) {
      throw usage(
        `draw returned ${one?.length ?? 'no'} numbers for draw ${i}`,
        `return ${elements}, one for each element of a point`,
      );
    }
    data.set(one, i * elements);
    const odd = data.subarray(i * elements, (i + 1) * elements).findIndex((value) => !Number.isFinite(value));
    if (odd >= 0) throw usage(`draw returned ${String(one[odd])} at position ${odd} of draw ${i}`, 'return finite numbers');
  }
  return { data, shape: [count, elements] };
}

/** Reads the rows of a .jsonl or .csv file that the command line has written. */
export async function readRows(source: DataSource, signal?: AbortSignal): Promise<Row[]> {
  const name = nameOf(source, undefined, 'rows');
  const bytes = await readModel(source, signal, name);
  if (bytes.length === 0) throw unreadable(`${name} is empty`, 'give rows as .jsonl or .csv');
  if (begins(bytes, 'SQLite format 3')) {
    refuse(name, 'is a run, but rows are read from text files', 'write one with probust export RUN -o rows.jsonl');
  }
  return parseRows(bytes, name);
}

export { rowsVersion, writeRows } from './data/rows.js';
export { ProbustError } from './errors.js';
export type { ImageOptions, Pixels } from './data/images.js';
export type { Row } from './types.js';
