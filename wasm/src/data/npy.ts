// SPDX-License-Identifier: MIT
// The .npy format: a magic number, a version, a header (a Python dictionary as text), and the values. Results and errors are the
// same as on the command line (native/datasets/npy.cpp).
import { denseArray, labelsOf, part, refuse, shapeText, type ElementType, type StoredArray } from '../arrays.js';
import { elementCount } from '../shape.js';
import type { StoredLabels } from './text-labels.js';

const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]; // \x93NUMPY

export const isNpy = (bytes: Uint8Array): boolean => magic.every((byte, i) => bytes[i] === byte);

interface Header {
  /** The type of the elements, such as '<f4'. */
  type: string;
  columnMajor: boolean;
  shape: number[];
}

/** The header's dictionary. Keys are quoted; values are quoted text, True, False or a tuple of whole numbers. */
class HeaderText {
  #rest: string;
  readonly #name: string;

  constructor(text: string, name: string) {
    this.#rest = text;
    this.#name = name;
  }

  parse(): Header {
    const header: Partial<Header> = {};
    let found = 0;
    this.#expect('{');
    while (!this.#accept('}')) {
      const key = this.#quoted();
      this.#expect(':');
      if (key === 'descr') header.type = this.#type();
      else if (key === 'fortran_order') header.columnMajor = this.#truth();
      else if (key === 'shape') header.shape = this.#tuple();
      else this.#fail('an unknown key');
      ++found;
      if (!this.#accept(',') && this.#peek() !== '}') this.#fail('no comma between entries');
    }
    if (found !== 3 || !header.type || !header.shape || header.columnMajor === undefined) {
      this.#fail('not the three keys descr, fortran_order and shape');
    }
    return header as Header;
  }

  #fail(what: string): never {
    return refuse(this.#name, `has a damaged .npy header: ${what}`, 'write it with numpy.save');
  }

  #peek(): string {
    this.#rest = this.#rest.replace(/^[ \n]+/, '');
    return this.#rest.charAt(0);
  }

  #accept(symbol: string): boolean {
    if (this.#peek() !== symbol) return false;
    this.#rest = this.#rest.slice(1);
    return true;
  }

  #expect(symbol: string): void {
    if (!this.#accept(symbol)) this.#fail(`'${symbol}' is missing`);
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    this.#peek();
    const found = pattern.exec(this.#rest) ?? undefined;
    if (found) this.#rest = this.#rest.slice(found[0].length);
    return found;
  }

  #quoted(): string {
    const word = this.#take(/^'([^']*)'|^"([^"]*)"/);
    return word ? (word[1] ?? word[2])! : this.#fail('a quoted word is missing');
  }

  #truth(): boolean {
    const word = this.#take(/^(True|False)/);
    return word ? word[1] === 'True' : this.#fail('fortran_order is neither True nor False');
  }

  #tuple(): number[] {
    const shape: number[] = [];
    this.#expect('(');
    while (!this.#accept(')')) {
      const extent = this.#take(/^(-?\d+)L?/); // Python 2 wrote long integers with an L
      if (!extent) this.#fail('the shape is not a tuple of whole numbers');
      shape.push(Number(extent![1]));
      if (!this.#accept(',') && this.#peek() !== ')') this.#fail('the shape is not a tuple of whole numbers');
    }
    return shape;
  }

  #type(): string {
    if (this.#peek() === '[') refuse(this.#name, 'has records, not numbers', 'save an array of float32 or uint8');
    return this.#quoted();
  }
}

function numberType(text: string, name: string): ElementType {
  const [, order, kind, bytes] = /^([<>|=])([uif])([1248])$/.exec(text) ?? [];
  if (!order || (kind === 'f' && bytes === '1')) {
    const hint = "save float32, float64 or an integer type, as with x.astype('float32')";
    refuse(name, `has values of type '${text}'`, hint);
  }
  const kinds = { u: 'unsigned', i: 'signed', f: 'floating' } as const;
  return { kind: kinds[kind as 'u'], bytes: Number(bytes), littleEndian: order !== '>' };
}

interface NpyFile {
  header: Header;
  /** The position of the first value. */
  begin: number;
}

function fileOf(bytes: Uint8Array, name: string): NpyFile {
  if (!isNpy(bytes)) refuse(name, 'is not a .npy file: it does not begin with \\x93NUMPY', 'write it with numpy.save');
  const version = part(bytes, 6, 2, name, 'a .npy header')[0]!;
  if (version < 1 || version > 3) refuse(name, `has .npy format version ${version}`, 'save it as version 1, 2 or 3');
  const width = version === 1 ? 2 : 4;
  const length = part(bytes, 8, width, name, 'a .npy header').reduce((sum, byte, i) => sum + byte * 256 ** i, 0);
  const text = part(bytes, 8 + width, length, name, 'its .npy header');
  const header = new HeaderText(new TextDecoder('latin1').decode(text), name).parse();
  return { header, begin: 8 + width + length };
}

function numbersOf({ header, begin }: NpyFile, type: ElementType, bytes: Uint8Array, name: string): StoredArray {
  return denseArray(type, header.shape, header.columnMajor, bytes, begin, name);
}

/**
 * The array in a .npy file of format versions 1 to 3: any integer or floating type except bool, either byte order, C or Fortran
 * order.
 */
export function parseNpy(bytes: Uint8Array, name: string): StoredArray {
  const file = fileOf(bytes, name);
  return numbersOf(file, numberType(file.header.type, name), bytes, name);
}

/** The text before the padding zeros. `width` is the number of bytes per character: 1, or 4 for UTF-32. */
function textIn(stored: DataView, width: number, littleEndian: boolean, name: string): string {
  const characters: number[] = [];
  for (let at = 0; at < stored.byteLength; at += width) {
    const c = width === 1 ? stored.getUint8(at) : stored.getUint32(at, littleEndian);
    if (c === 0) break;
    if (c >= 0x110000) refuse(name, 'contains text that is not Unicode', 'write it with numpy.save');
    characters.push(c);
  }
  if (width === 1) return new TextDecoder().decode(Uint8Array.from(characters));
  return characters.map((c) => String.fromCodePoint(c)).join('');
}

/** Whole numbers, bools or texts, one for each point. */
export function parseNpyLabels(bytes: Uint8Array, name: string): StoredLabels {
  const file = fileOf(bytes, name);
  const { type, shape } = file.header;
  const byte: ElementType = { kind: 'unsigned', bytes: 1, littleEndian: true };
  if (type === '|b1') return { numbers: labelsOf(numbersOf(file, byte, bytes, name), name) };
  if (type === '|O') refuse(name, 'has Python objects', 'save text or whole numbers, as with y.astype(str)');
  const [, order, kind, characters] = /^([<>|=])([US])([1-9]\d{0,5})$/.exec(type) ?? [];
  if (!kind) return { numbers: labelsOf(numbersOf(file, numberType(type, name), bytes, name), name) };
  const width = kind === 'U' ? 4 : 1;
  const long = width * Number(characters);
  const array = numbersOf(file, { ...byte, bytes: long }, bytes, name);
  if (shape.length === 0 || elementCount(shape) !== shape[0]) {
    refuse(name, `has shape ${shapeText(shape)}, but labels have shape [N]`, 'give one label per point');
  }
  const texts = Array.from({ length: shape[0]! }, (_, i) => {
    const one = new DataView(array.bytes.buffer, array.bytes.byteOffset + i * long, long);
    return (
      textIn(one, width, order !== '>', name).trim() || refuse(`label ${i} of ${name}`, 'is empty', 'give each point a label')
    );
  });
  return { texts };
}
