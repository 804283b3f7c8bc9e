// SPDX-License-Identifier: MIT
// The .npy format: a magic number, a version, a header that is a Python dictionary as text, then the values. Results and errors
// are those of the command line (native/datasets/npy.cpp).
import { denseArray, part, refuse, type ElementType, type StoredArray } from './arrays.js';

const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]; // \x93NUMPY

export const isNpy = (bytes: Uint8Array): boolean => magic.every((byte, i) => bytes[i] === byte);

interface Header {
  type: ElementType;
  columnMajor: boolean;
  shape: number[];
}

/** The header's dictionary: quoted keys; values are quoted text, True, False or a tuple of whole numbers. */
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

  #type(): ElementType {
    if (this.#peek() === '[') refuse(this.#name, 'holds records, not numbers', 'save an array of float32 or uint8');
    const text = this.#quoted();
    const [, order, kind, bytes] = /^([<>|=])([uif])([1248])$/.exec(text) ?? [];
    if (!order || (kind === 'f' && bytes === '1')) {
      const hint = "save float32, float64 or an integer type, as with x.astype('float32')";
      refuse(this.#name, `holds values of type '${text}'`, hint);
    }
    const kinds = { u: 'unsigned', i: 'signed', f: 'floating' } as const;
    return { kind: kinds[kind as 'u'], bytes: Number(bytes), littleEndian: order !== '>' };
  }
}

/** The array in a .npy file of format 1 to 3: any integer or floating type except bool, either byte order, C or Fortran order. */
export function parseNpy(bytes: Uint8Array, name: string): StoredArray {
  if (!isNpy(bytes)) refuse(name, 'is not a .npy file: it does not begin with \\x93NUMPY', 'write it with numpy.save');
  const version = part(bytes, 6, 2, name, 'a .npy header')[0]!;
  if (version < 1 || version > 3) refuse(name, `is of .npy format version ${version}`, 'versions 1 to 3 are read');
  const width = version === 1 ? 2 : 4;
  const length = part(bytes, 8, width, name, 'a .npy header').reduce((sum, byte, i) => sum + byte * 256 ** i, 0);
  const text = part(bytes, 8 + width, length, name, 'its .npy header');
  const { type, shape, columnMajor } = new HeaderText(new TextDecoder('latin1').decode(text), name).parse();
  return denseArray(type, shape, columnMajor, bytes, 8 + width + length, name);
}
