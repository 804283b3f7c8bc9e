// SPDX-License-Identifier: MIT
// Points, labels, rows and errors are the same as on the command line for the same files.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { crc32, deflateSync, gzipSync } from 'node:zlib';
import Ajv from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PointData } from '../../build/wasm/npm/types/data.js';
import type { Model, Probust, Row } from '../../build/wasm/npm/types/index.js';
import { launch, resultOf, serve } from './server.js';
import { digits, errorOf, load, native, point, root, staged } from './support.js';

type DataEntry = typeof import('../../build/wasm/npm/types/data.js');
declare const importByNode: <T>(url: string) => Promise<T>; // load.mjs defines it

const { createProbust, ProbustError } = await load();
const data = await importByNode<DataEntry>(pathToFileURL(join(staged, 'data.mjs')).href);
const folder = mkdtempSync(join(tmpdir(), 'probust-data-'));
let probust: Probust;
let model: Model;
beforeAll(async () => {
  probust = await createProbust();
  model = await probust.loadModel(digits);
});
afterAll(() => {
  probust.dispose();
  rmSync(folder, { recursive: true, force: true });
});

const file = (name: string, bytes: Uint8Array | string): string => {
  writeFileSync(join(folder, name), bytes);
  return join(folder, name);
};
const bytesOf = (values: ArrayBufferView): Uint8Array => new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
const joined = (...parts: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

/** A .npy file. */
function npy(descr: string, shape: readonly number[], values: Uint8Array, { fortran = false, version = 1 } = {}): Uint8Array {
  const text = `{'descr': '${descr}', 'fortran_order': ${fortran ? 'True' : 'False'}, 'shape': (${shape.join(', ')}${shape.length === 1 ? ',' : ''}), }\n`;
  const length = Buffer.alloc(version === 1 ? 2 : 4);
  if (version === 1) length.writeUInt16LE(text.length);
  else length.writeUInt32LE(text.length);
  return joined(Buffer.from([0x93, ...Buffer.from('NUMPY'), version, 0]), length, Buffer.from(text, 'latin1'), values);
}

/** An IDX file. */
function idx(code: number, shape: readonly number[], values: Uint8Array): Uint8Array {
  const header = Buffer.alloc(4 + 4 * shape.length);
  header.set([0, 0, code, shape.length]);
  shape.forEach((extent, k) => header.writeUInt32BE(extent, 4 + 4 * k));
  return joined(header, values);
}

const swapped = (values: Uint8Array, width: number): Uint8Array => {
  const copy = values.slice();
  for (let at = 0; at < copy.length; at += width) copy.subarray(at, at + width).reverse();
  return copy;
};

describe('npy', () => {
  const counts = Array.from({ length: 6 }, (_, i) => i * 7 - 3);
  const positive = counts.map(Math.abs);
  it.each<[string, ArrayBufferView, number[]]>([
    ['|u1', Uint8Array.from(positive), positive],
    ['|i1', Int8Array.from(counts), counts],
    ['<u2', Uint16Array.from(positive), positive],
    ['<i2', Int16Array.from(counts), counts],
    ['<u4', Uint32Array.from(positive), positive],
    ['<i4', Int32Array.from(counts), counts],
    ['<u8', BigUint64Array.from(positive, BigInt), positive],
    ['<i8', BigInt64Array.from(counts, BigInt), counts],
    ['<f2', Uint16Array.from([0x3c00, 0xc000, 0x0001, 0x7c00, 0x3555, 0x8000]), [1, -2, 2 ** -24, Infinity, 0.333251953125, -0]],
    ['<f4', Float32Array.from(counts, (value) => value / 4), counts.map((value) => value / 4)],
    ['<f8', Float64Array.from(counts, (value) => value / 4), counts.map((value) => value / 4)],
  ])('%s, in both orders', async (descr, values, expected) => {
    const width = Number(descr[2]);
    const scale = descr === '|u1' ? 1 / 255 : 1;
    const x = Float32Array.from(expected, (value) => value * scale);
    for (const [type, bytes] of [
      [descr, bytesOf(values)],
      [descr.replace('<', '>'), swapped(bytesOf(values), width)],
    ] as const) {
      expect(await data.readNpy(npy(type, [2, 3], bytes))).toEqual({ x, pointShape: [3], index: 0 });
      const columns = await data.readNpy(npy(type, [3, 2], bytes, { fortran: true, version: 2 }));
      expect(columns.x).toEqual(Float32Array.from([0, 3, 1, 4, 2, 5], (k) => x[k]!));
    }
  });

  it('returns the requested points', async () => {
    const bytes = npy('<f4', [4, 1, 2], bytesOf(Float32Array.from([0, 1, 2, 3, 4, 5, 6, 7])));
    const labels = file('labels.txt', '5\n6\n\n7\n8\n');
    expect(await data.readNpy(bytes, { offset: 1, limit: 2, scale: 0.5, labels })).toEqual({
      x: Float32Array.from([1, 1.5, 2, 2.5]),
      pointShape: [1, 2],
      index: 1,
      labels: Int32Array.from([6, 7]),
    });
    expect(
      (await data.readNpy(bytes, { labels: npy('<i8', [4], bytesOf(BigInt64Array.from([1n, 2n, 3n, 4n]))) })).labels,
    ).toEqual(Int32Array.from([1, 2, 3, 4]));
    const { data: numbers, shape } = await data.readArray(npy('<f8', [2], bytesOf(Float64Array.from([0.1, 1e300]))));
    expect([Array.from(numbers), shape]).toEqual([[0.1, 1e300], [2]]);
  });
});

/** The command's error for a file, without hints about options that only the command has. */
function refusal(path: string, ...more: string[]): string {
  const run = spawnSync(native, ['logits', digits, path, '-o', join(folder, 'out.npy'), '--quiet', ...more], {
    encoding: 'utf8',
  });
  expect(run.status).toBe(3);
  return run.stderr
    .trim()
    .replace(/^probust: /, '')
    .replaceAll('--label-column', 'labelColumn')
    .replace(/--(offset|limit|crop|resize)/g, '$1')
    .replace(/, or skip unreadable points with --skip-bad$/, '');
}

const floats = bytesOf(Float32Array.from({ length: 256 }, (_, i) => i / 256));
const good = npy('<f4', [1, 256], floats);
const text = (bytes: Uint8Array, from: string, to: string): Uint8Array =>
  joined(Buffer.from(Buffer.from(bytes).toString('latin1').replace(from, to), 'latin1'));
const damaged: [string, Uint8Array | string, object?][] = [
  ['short.npy', good.subarray(0, good.length - 3)],
  ['long.npy', joined(good, floats)],
  ['header.npy', good.subarray(0, 40)],
  ['version.npy', joined(good.subarray(0, 6), Uint8Array.of(9, 0), good.subarray(8))],
  ['key.npy', text(good, "'descr'", "'dtype'")],
  ['colon.npy', text(good, "'descr':", "'descr' ")],
  ['order.npy', text(good, 'False', 'Maybe')],
  ['shape.npy', text(good, '(1, 256)', '(1, abc)')],
  ['type.npy', text(good, '<f4', '<c8')],
  ['records.npy', text(good, "'<f4'", "[('a')]")],
  ['negative.npy', text(good, '(1, 256)', '(-1, 25)')],
  ['none.npy', npy('<f4', [0, 256], new Uint8Array())],
  ['scalar.npy', npy('<f4', [], new Uint8Array(4))],
  ['empty.npy', npy('<f4', [3, 0], new Uint8Array())],
  ['short-idx3-ubyte', idx(8, [2, 16, 16], new Uint8Array(500))],
  ['list-idx1-ubyte', idx(8, [5], new Uint8Array(5))],
  ['code-idx3-ubyte', idx(7, [1, 16, 16], new Uint8Array(256))],
  ['words.csv', '1,2,3\n4,x,6\n'],
  ['blank.csv', '1,2,3\n4,,6\n'],
  ['few.csv', '1,2,3\n4,5\n'],
  ['many.csv', '1,2,3\n4,5,6,7\n'],
  ['decimal.csv', '1;2;3\n4,5;5;6\n'],
  ['open.csv', '1,2,3\n4,"5,6\n'],
  ['after.csv', '1,2,3\n4,"5"6,7\n'],
  ['rows.csv', '\n\n'],
  ['header.csv', 'a,b,c\n'],
  ['one.csv', '1\n2\n'],
  ['label.csv', '1,2,0\n3,4,1.5\n'],
  ['emptylabel.csv', '1,2,0\n3,4,\n5,6,1\n'],
  ['binary.csv', '1,2\u0001,3\n'],
  ['column.csv', '1,2,3\n', { labelColumn: 7 }],
  ['name.csv', 'a,b,c\n1,2,3\n', { labelColumn: 'd' }],
  ['offset.csv', '1,2,3\n', { offset: 2 }],
  ['title.csv', 'measurements\n1,2,0\n'],
  ['labelsfirst.csv', 'cat,1,2.5\ndog,3,4.5\n'],
  ['decimalslast.csv', '0,1,2.5\n1,3,4.5\n0,5,6.5\n'],
  ['quotedcomma.csv', '"1,5",2,0\n3,4,1\n'],
  ['commalabel.csv', '1;2;0,5\n3;4;1,5\n'],
  ['missingname.csv', 'a,b,kind\n1,2,cat\n3,4,NA\n5,6,dog\n'],
  ['missingnumber.csv', '1,2,0\n3,4,NA\n5,6,1\n'],
  ['date.csv', 'day,b,kind\n"Jan 1, 2024",2,cat\n"Jan 2, 2024",4,dog\n'],
  ['separator.csv', '\nsep=|\n\na|b|kind\n1|2|0\n3|x|1\n'],
];

/** Texts in numpy's format: '<U8' or '|S8'. */
const unicode = (texts: string[], order: '<' | '>' = '<'): Uint8Array => {
  const points = Uint32Array.from(
    texts.flatMap((text) => Array.from({ length: 8 }, (_, i) => [...text][i]?.codePointAt(0) ?? 0)),
  );
  const bytes = bytesOf(points);
  return npy(`${order}U8`, [texts.length], order === '<' ? bytes : swapped(bytes, 4));
};
const ascii = (texts: string[]): Uint8Array =>
  npy('|S8', [texts.length], Buffer.from(texts.map((text) => text.padEnd(8, '\0')).join('')));
const ten = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
/** The digits in reverse order. */
const numerals = ten.map((_, i) => String(9 - i));

const labelFiles: [string, Uint8Array | string, string[]?][] = [
  ['words.txt', 'two\nTwo\nnine\nzero\n', ten],
  ['sorted.txt', 'pear\napple\npear\nfig\n'],
  ['named.txt', 'species\npear\napple\npear\nfig\n'],
  ['numbers.txt', 'label\n3\n1\n2\n0\n'],
  ['numerals.txt', '3\n1\n2\n0\n', numerals],
  ['unicode.npy', unicode(['two', 'nine', ' zero', 'two']), ten],
  ['swapped.npy', unicode(['é', 'z', '😀', '￮'], '>')],
  ['bytes.npy', ascii(['two', 'nine', 'zero', 'two']), ten],
  ['bool.npy', npy('|b1', [4], Uint8Array.of(1, 0, 0, 1))],
  ['numerals.npy', npy('|u1', [4], Uint8Array.of(1, 0, 3, 1)), numerals],
];
const oddLabels: [string, Uint8Array | string, string[]?][] = [
  ['unknown.txt', 'two\nninth\nzero\ntwo\n', ten],
  ['twice.txt', 'two\nzero\nzero\ntwo\n', [...ten.slice(0, 9), 'TWO', 'two']],
  ['mixed.txt', 'two\n3\nzero\ntwo\n'],
  ['wide.txt', 'two,3\nzero\ntwo\none\n'],
  ['ten.txt', '3\n10\n2\n0\n', numerals],
  ['missing.txt', 'two\nNA\nzero\ntwo\n'],
  ['few.npy', unicode(['two', 'nine'])],
  ['empty.npy', unicode(['two', '', 'zero', 'two']), ten],
  ['square.npy', npy('|S8', [2, 2], new Uint8Array(32).fill(65))],
  ['objects.npy', npy('|O', [4], new Uint8Array(32))],
];

describe.skipIf(!existsSync(native))('labels of another file are those of the command line', () => {
  const points = () =>
    file('points.npy', npy('<f4', [4, 256], bytesOf(Float32Array.from({ length: 1024 }, (_, i) => (i % 7) / 7))));
  /** Reads points with these labels with the command (`run`) and with the package (`read`). */
  function asked(name: string, bytes: Uint8Array | string, classes?: string[]) {
    const [x, labels, names] = [points(), file(name, bytes), file('names.txt', (classes ?? []).join('\n'))];
    const words = ['--labels', labels, '--sigma', '0.1', '--estimator', 'mc:2', '--format', 'jsonl', '--no-check', '--quiet'];
    const run = spawnSync(native, ['estimate', digits, x, ...words, ...(classes ? ['--classes', names] : [])], {
      encoding: 'utf8',
    });
    return { run, read: data.readData(x, { labels, classes }) };
  }

  it.each(labelFiles)('%s', async (...given) => {
    const { run, read } = asked(...given);
    const rows = run.stdout.trim().split('\n');
    expect(Array.from((await read).labels!)).toEqual(rows.map((line) => (JSON.parse(line) as Row).label));
  });

  it.each(oddLabels)('%s is rejected', async (...given) => {
    const { run, read } = asked(...given);
    const error = await errorOf(read);
    const line = run.stderr
      .trim()
      .replace(/^probust: /, '')
      .replaceAll('--classes', 'classes');
    expect([error.code, error.message]).toEqual(['unreadable', line.replaceAll(`${folder}/`, '')]);
  });
});

describe.skipIf(!existsSync(native))('errors are those of the command line', () => {
  it.each(damaged)('%s', async (name, bytes, options = {}) => {
    const path = file(name, bytes);
    const read = name.endsWith('.npy') ? data.readNpy : name.endsWith('.csv') ? data.readCsv : data.readIdx;
    const error = await errorOf(read(path, { name: path, ...options }));
    expect(error).toBeInstanceOf(ProbustError);
    expect(error.code).toBe('unreadable');
    const flags = Object.entries(options).flatMap(([key, value]) => [
      key === 'labelColumn' ? '--label-column' : `--${key}`,
      `${value}`,
    ]);
    // The lists of supported formats differ.
    const known = (line: string) => line.replace('IDX, .npy, .npz, CIFAR .bin or .csv', 'IDX, .npy or .csv');
    expect(error.message).toBe(known(refusal(path, ...flags)));
  });
});

describe('tables', () => {
  const cases: [string, string, object, PointData][] = [
    [
      'a header and names',
      'a,b,kind\n1,2.5,cat\n3,-4,dog\n5,6,cat\n',
      {},
      {
        x: Float32Array.from([1, 2.5, 3, -4, 5, 6]),
        labels: Int32Array.from([0, 1, 0]),
        classNames: ['cat', 'dog'],
        pointShape: [2],
        index: 0,
      },
    ],
    [
      'numbers',
      '\ufeff1,2,7\r\n3,4,8\r\n',
      {},
      { x: Float32Array.from([1, 2, 3, 4]), labels: Int32Array.from([7, 8]), pointShape: [2], index: 0 },
    ],
    [
      'quotes',
      '"1"; "2" ;"a ""b"""\n3;4;c\n\n',
      {},
      {
        x: Float32Array.from([1, 2, 3, 4]),
        labels: Int32Array.from([0, 1]),
        classNames: ['a "b"', 'c'],
        pointShape: [2],
        index: 0,
      },
    ],
    [
      "Excel's separator",
      'sep=;\r\n1,5 m;b;kind\r\n1;2;7\r\n3;4;8\r\n',
      {},
      { x: Float32Array.from([1, 2, 3, 4]), labels: Int32Array.from([7, 8]), pointShape: [2], index: 0 },
    ],
    [
      'tabs and no labels',
      '1\t2e3\n+3\t-inf',
      { labelColumn: 'none' },
      { x: Float32Array.from([1, 2000, 3, -Infinity]), pointShape: [2], index: 0 },
    ],
    [
      'a named column',
      'y,a\n1,2\n0,3\n',
      { labelColumn: 'y', offset: 1 },
      { x: Float32Array.from([3]), labels: Int32Array.from([0]), pointShape: [1], index: 1 },
    ],
    [
      'a numbered column',
      '1,2\n0,3\n',
      { labelColumn: 0, scale: 10 },
      { x: Float32Array.from([20, 30]), labels: Int32Array.from([1, 0]), pointShape: [1], index: 0 },
    ],
    [
      'text labels in sorted order',
      '1,pear\n2,apple\n',
      {},
      {
        x: Float32Array.from([1, 2]),
        labels: Int32Array.from([1, 0]),
        classNames: ['apple', 'pear'],
        pointShape: [1],
        index: 0,
      },
    ],
    [
      'text labels of given classes',
      '1,pear\n2,Apple\n',
      { classes: ['fig', 'pear', 'apple'] },
      {
        x: Float32Array.from([1, 2]),
        labels: Int32Array.from([1, 2]),
        classNames: ['fig', 'pear', 'apple'],
        pointShape: [1],
        index: 0,
      },
    ],
    [
      'blanks, a comment and booleans',
      '# numpy\n  1.5   True 0\n 2e0 False 1 \n',
      {},
      { x: Float32Array.from([1.5, 1, 2, 0]), labels: Int32Array.from([0, 1]), pointShape: [2], index: 0 },
    ],
    [
      'vertical bars',
      '1|2|0\n3|4|1',
      {},
      { x: Float32Array.from([1, 2, 3, 4]), labels: Int32Array.from([0, 1]), pointShape: [2], index: 0 },
    ],
    [
      'a header of integers over decimals',
      '0,1,2\n5.5,6,1\n',
      {},
      {
        x: Float32Array.from([5.5, 6]),
        labels: Int32Array.from([1]),
        pointShape: [2],
        index: 0,
        notes: ['the first row is 0, 1, 2 and is read as a header'],
      },
    ],
    [
      'integers over integers, which are a point',
      '0,1,2\n5,6,1\n',
      {},
      { x: Float32Array.from([0, 1, 5, 6]), labels: Int32Array.from([2, 1]), pointShape: [2], index: 0 },
    ],
    [
      'a column called class before the last',
      'class,a,b\n1,2,3\n0,4,5\n',
      {},
      {
        x: Float32Array.from([2, 3, 4, 5]),
        labels: Int32Array.from([1, 0]),
        pointShape: [2],
        index: 0,
        notes: ["labels are in column 'class'; if they are in the last one, give labelColumn 2"],
      },
    ],
    [
      'an index without a name',
      ',a,b,label\n0,1,2,1\n1,3,4,0\n',
      {},
      {
        x: Float32Array.from([1, 2, 3, 4]),
        labels: Int32Array.from([1, 0]),
        pointShape: [2],
        index: 0,
        notes: ['the first column has no name and numbers the rows, so it is left out'],
      },
    ],
    [
      'labels of two signs',
      '1,2,-1\n3,4,1\n',
      {},
      { x: Float32Array.from([1, 2, 3, 4]), labels: Int32Array.from([0, 1]), pointShape: [2], index: 0 },
    ],
    [
      'labels that begin the names of classes',
      '1,2,g\n3,4,b\n',
      { classes: ['bad', 'good'] },
      {
        x: Float32Array.from([1, 2, 3, 4]),
        labels: Int32Array.from([1, 0]),
        classNames: ['bad', 'good'],
        pointShape: [2],
        index: 0,
      },
    ],
    [
      'names that are numbers',
      '0,1,label\n5,6,1\n',
      {},
      { x: Float32Array.from([5, 6]), labels: Int32Array.from([1]), pointShape: [2], index: 0 },
    ],
  ];
  it.each(cases)('%s', async (_what, csv, options, expected) => {
    const source = new File([csv], 'table.csv');
    expect(await data.readCsv(source, options)).toEqual(expected);
    expect(await data.readData(source, options)).toEqual(expected);
  });
});

describe('IDX', () => {
  it('is read, compressed and with labels', async () => {
    const pixels = Uint8Array.from({ length: 512 }, (_, i) => i % 251);
    const images = idx(8, [2, 16, 16], pixels);
    const expected = { x: Float32Array.from(pixels, (byte) => byte / 255), pointShape: [1, 16, 16], index: 0 };
    expect(await data.readIdx(images)).toEqual(expected);
    expect(await data.readData(new Blob([gzipSync(images)]))).toEqual(expected);
    const labels = idx(8, [2], Uint8Array.of(4, 9));
    expect((await data.readIdx(images, { labels: gzipSync(labels) })).labels).toEqual(Int32Array.from([4, 9]));
    const few = await errorOf(data.readIdx(images, { labels: new File([idx(8, [1], Uint8Array.of(4))], 'few') }));
    expect(few.message).toBe('few has 1 labels for 2 points; give one label per point');
    const cut = await errorOf(data.readIdx(gzipSync(images).subarray(0, 100), { name: 'cut.gz' }));
    expect(cut.message).toMatch(/^cut.gz (is truncated|has damaged)/);
  });

  it.skipIf(!existsSync(native))('gives the logits of the command line', async () => {
    const pixels = Uint8Array.from({ length: 3 * 256 }, (_, i) => (i * 37) % 256);
    const cases: [string, Uint8Array | string][] = [
      ['a-idx3-ubyte', idx(8, [3, 16, 16], pixels)],
      ['a.npy', npy('|u1', [3, 1, 16, 16], pixels)],
      ['f.npy', npy('<f8', [3, 256], bytesOf(Float64Array.from(pixels, (byte) => byte / 300)), { fortran: true })],
      ['a.csv', Array.from({ length: 3 }, (_, i) => [...pixels.subarray(256 * i, 256 * (i + 1)), i].join()).join('\n')],
    ];
    for (const [name, bytes] of cases) {
      const path = file(name, bytes);
      execFileSync(native, ['logits', digits, path, '-o', join(folder, 'logits.npy'), '--device', 'eigen', '--quiet']);
      const expected = await data.readNpy(join(folder, 'logits.npy'));
      const logits = await model.logits((await data.readData(path)).x);
      logits.forEach((value, i) =>
        expect(Math.abs(value - expected.x[i]!), name).toBeLessThan(1e-5 * Math.max(1, Math.abs(value))),
      );
    }
  });
});

/** A PNG file with these RGB values. */
function png(width: number, height: number, rgb: Uint8Array, bits = 8): Buffer {
  const chunk = (type: string, body: Uint8Array) => {
    const inside = Buffer.concat([Buffer.from(type), body]);
    const ends = Buffer.alloc(8);
    ends.writeUInt32BE(body.length, 0);
    ends.writeUInt32BE(crc32(inside), 4);
    return Buffer.concat([ends.subarray(0, 4), inside, ends.subarray(4)]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([bits, 2], 8);
  const bytes = (3 * width * bits) / 8;
  const lines = Array.from({ length: height }, (_, y) => [0, ...rgb.subarray(bytes * y, bytes * (y + 1))]).flat();
  const magic = Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]);
  return Buffer.concat([
    magic,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Uint8Array.from(lines))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

describe('images', () => {
  const picture = (width: number, height: number, seed: number) => {
    const bytes = Uint8Array.from({ length: 4 * width * height }, (_, i) =>
      i % 4 === 3 ? 255 : (i * seed + (i >> 5) * 11) % 256,
    );
    return { width, height, data: bytes };
  };

  it.skipIf(!existsSync(native))('give the logits of the command line', async () => {
    const pictures = [picture(45, 31, 7), picture(30, 64, 13), picture(20, 20, 5), picture(9, 8, 3)];
    mkdirSync(join(folder, 'images'));
    pictures.forEach(({ width, height, data: bytes }, i) => {
      const rgb = bytes.filter((_, k) => k % 4 !== 3);
      writeFileSync(join(folder, 'images', `${i}.png`), png(width, height, rgb));
    });
    for (const [resize, crop] of [
      [20, 16],
      [17, 16],
      [16, 16],
    ] as const) {
      const words = ['--resize', `${resize}`, '--crop', `${crop}`, '--device', 'eigen', '--quiet'];
      execFileSync(native, ['logits', digits, join(folder, 'images'), '-o', join(folder, 'logits.npy'), ...words]);
      const expected = await data.readNpy(join(folder, 'logits.npy'));
      const { x, pointShape } = await data.readImages(pictures, { channels: 1, resize, crop });
      expect(pointShape).toEqual([1, 16, 16]);
      // A single wrong gray level would change a logit by more than this.
      (await model.logits(x)).forEach((value, i) => expect(value).toBeCloseTo(expected.x[i]!, 4));
    }
  });

  it('are decoded by browsers', async () => {
    const { width, height, data: bytes } = picture(30, 21, 7);
    writeFileSync(
      join(folder, 'picture.png'),
      png(
        width,
        height,
        bytes.filter((_, k) => k % 4 !== 3),
      ),
    );
    writeFileSync(join(folder, 'deep.png'), png(2, 2, new Uint8Array(24), 16));
    const script = `import { readImages } from '/data.mjs';
      const file = await (await fetch('/picture.png')).blob();
      const { x, pointShape } = await readImages([file, file], { channels: 1, resize: 18, crop: 16 });
      const error = await readImages([new File(['no image'], 'text.png')]).catch(({ code, message }) => code + ' ' + message);
      // Images whose EXIF data ask for a rotation by 90 degrees.
      const canvas = new OffscreenCanvas(8, 4);
      Object.assign(canvas.getContext('2d'), { fillStyle: '#a06020' }).fillRect(0, 0, 3, 2);
      const tiff = [77, 77, 0, 42, 0, 0, 0, 8, 0, 1, 1, 18, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0];
      const exif = Uint8Array.of(255, 225, 0, 8 + tiff.length, 69, 120, 105, 102, 0, 0, ...tiff);
      const jpeg = await canvas.convertToBlob({ type: 'image/jpeg', quality: 1 });
      const turned = new Blob([jpeg.slice(0, 2), exif, jpeg.slice(2)], { type: 'image/jpeg' });
      const { width } = await createImageBitmap(turned);
      const [one, other] = await Promise.all([jpeg, turned].map((each) => readImages([each])));
      const same = JSON.stringify(one.x) === JSON.stringify(other.x);
      const notes = [one.notes, ...other.notes];
      const deep = await readImages([await (await fetch('/deep.png')).blob()]).catch(({ code, message }) => code + ' ' + message);
      document.querySelector('#result').textContent = JSON.stringify({ x: Array.from(x), pointShape, error, width, same, notes, deep });`;
    const html = `<!doctype html><meta charset="utf-8"><pre id="result"></pre><script type="module">${script}</script>`;
    writeFileSync(join(folder, 'images.html'), html);
    const browser = await launch();
    const server = await serve([folder, staged]);
    try {
      const answer = JSON.parse(await resultOf(browser, `${server.url}/images.html`)) as PointData & {
        error: string;
        width: number;
        same: boolean;
        notes: (string | null)[];
        deep: string;
      };
      const image = { width, height, data: bytes };
      const own = await data.readImages([image, image], { channels: 1, resize: 18, crop: 16 });
      expect(answer.pointShape).toEqual(own.pointShape);
      expect(Float32Array.from(answer.x)).toEqual(own.x);
      expect(answer.error).toMatch(/^unreadable text.png cannot be decoded/);
      expect(answer.width).toBe(4); // the browser itself rotates it
      expect(answer.same).toBe(true);
      expect(answer.notes).toEqual([
        null,
        expect.stringMatching(/^the EXIF orientation of 1 image is ignored \(the first is image 0\); rotate/),
      ]);
      expect(answer.deep).toMatch(
        /^unreadable image 0 has 16 bits per value, of which browsers keep 8; give the values as a .npy/,
      );
    } finally {
      server.close();
      await browser.close();
    }
  });

  it('keep their colours', async () => {
    const { x, pointShape } = await data.readImages([picture(2, 1, 7)]);
    expect(pointShape).toEqual([3, 1, 2]);
    expect(x).toEqual(Float32Array.from([0, 28, 7, 35, 14, 42], (byte) => byte / 255));
  });

  it('are rejected in one line', async () => {
    const refusals: [() => Promise<unknown>, RegExp][] = [
      [() => data.readImages([]), /^images are missing/],
      [() => data.readImages([{ width: 2, height: 2, data: new Uint8Array(3) }]), /^image 0 is not an image/],
      [() => data.readImages([picture(2, 2, 3), picture(3, 2, 3)]), /^image 1 has 3 x 2 pixels, but image 0 has 2 x 2/],
      [() => data.readImages([picture(4, 4, 3)], { crop: 5 }), /^image 0 has 4 x 4 pixels, which is less than crop 5/],
      [() => data.readImages([picture(4, 4, 3)], { resize: 4, crop: 5 }), /^crop is larger/],
      [() => data.readImages([picture(4, 4, 3)], { resize: 0 }), /^resize is not/],
      [() => data.readImages([picture(4, 4, 3)], { channels: 2 as 3 }), /^channels is 2/],
      [() => data.readImages([new Blob(['x'])]), /^image 0 cannot be decoded here/],
    ];
    for (const [call, line] of refusals) expect((await errorOf(call())).message).toMatch(line);
  });
});

describe('rows', () => {
  const noise = ['gaussian:0.1', 'gaussian:0.3'];
  const estimators = ['mc:50', 'probit:20', 'taylor', 'auto:60'];
  const validate = new Ajv({ strict: false }).compile(
    JSON.parse(readFileSync(join(root, 'docs/rows.schema.json'), 'utf8')) as object,
  );
  const valid = (line: string) => validate(JSON.parse(line)) || validate.errors;

  it('are written according to the schema, and read again', async () => {
    const rows = await model.estimate(point(0, 3), { noise, estimators, labels: [1, 2, 3] });
    const classes = await model.estimate(point(0, 2), { noise: 'gaussian:0.3', estimators: 'mc:20', perClass: true });
    const odd: Row = { ...rows[0]!, p: null, sigma: null, note: 'a, "b"', model: 'one', status: 'nonfinite' };
    for (const set of [rows, classes, [odd]]) {
      const lines = data.writeRows(set);
      for (const line of lines.trim().split('\n')) expect(valid(line)).toBe(true);
      expect(await data.readRows(Buffer.from(lines))).toEqual(set);
      expect(await data.readRows(new File([data.writeRows(set, 'csv')], 'rows.csv'))).toEqual(set);
    }
    expect(data.rowsVersion).toBe(1);
    expect(readFileSync(join(staged, 'rows.schema.json'), 'utf8')).toContain('"urn:probust:rows:1"');
    expect(valid(JSON.stringify({ ...JSON.parse(data.writeRows(rows).split('\n')[0]!), status: 'good' }))).not.toBe(true);
  });

  it.skipIf(!existsSync(native))('of the command line are valid, and are read', async () => {
    const base = ['estimate', digits, join(root, 'demos/digits/points.npz'), '--limit', '3', '--quiet', '--device', 'eigen'];
    const words = [...base, ...noise.flatMap((each) => ['--noise', each]), '--estimator', 'mc:50,taylor', '--per-class'];
    const run = join(folder, 'run.sqlite');
    execFileSync(native, [...words, '-o', run]);
    const paths = ['rows.jsonl', 'rows.csv', 'exported.jsonl', 'exported.csv'].map((name) => join(folder, name));
    for (const path of paths.slice(0, 2)) execFileSync(native, [...words, '-o', path]);
    for (const path of paths.slice(2)) execFileSync(native, ['export', run, '-o', path]);
    for (const line of readFileSync(paths[0]!, 'utf8').trim().split('\n')) expect(valid(line)).toBe(true);
    const [first, ...others] = await Promise.all(paths.map((path) => data.readRows(path)));
    for (const rows of others) expect(rows).toEqual(first);
    const own = await model.estimate(point(0, 3), { noise, estimators: ['mc:50', 'taylor'], perClass: true });
    own.forEach((row, i) => {
      const { label: _, ...other } = first![i]!;
      expect(row.p).toBeCloseTo(other.p!, 5);
      expect(Object.keys(row).sort()).toEqual(Object.keys(first![i]!).sort());
    });
    // The command writes whole numbers as 1.0 in .jsonl, which is the same number.
    const parsed = (text: string) =>
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object);
    expect(parsed(data.writeRows(first!))).toEqual(parsed(readFileSync(paths[0]!, 'utf8')));
    expect(Object.keys(parsed(data.writeRows(first!))[0]!)).toEqual(Object.keys(parsed(readFileSync(paths[0]!, 'utf8'))[0]!));
    const [header] = readFileSync(paths[1]!, 'utf8').split('\n');
    expect(data.writeRows(first!, 'csv').split('\n')[0]).toBe(header);
  });

  it('that are damaged are rejected in one line', async () => {
    const [row] = data
      .writeRows(await model.estimate(point(0), { noise: 'gaussian:0.1', estimators: 'mc:10' }))
      .trim()
      .split('\n');
    const cases: [string, RegExp][] = [
      ['{"index": 0', /^row 1 of rows is not a JSON object/],
      ['{"index": 0}', /^row 1 of rows has no label/],
      [row!.replace('"index":0', '"index":0.5'), /^row 1 of rows has 0.5 as index/],
      [
        `${row!}\n${row!.replace(/"status":"\w+"/, '"status":"good"')}`,
        /^row 2 of rows has the status 'good'; use one of ok, tie/,
      ],
      ['index,label\n1,2\n', /^row 2 of rows has no predicted/],
      ['\n \n', /^rows has no rows/],
      ['index\n', /^rows has no rows/],
      ['', /^rows is empty/],
      ['\u0001', /^rows is not text/],
      ['SQLite format 3', /^rows is a run, but rows are read from text files; write one with probust export RUN -o rows.jsonl/],
    ];
    for (const [text, line] of cases) {
      const error = await errorOf(data.readRows(Buffer.from(text)));
      expect([error.code, error.message]).toEqual(['unreadable', expect.stringMatching(line)]);
    }
    expect(() => data.writeRows([], 'xlsx' as 'csv')).toThrow("the format 'xlsx' is not known; use jsonl or csv");
  });
});

describe('noise from a function', () => {
  const draw = (i: number) => Float32Array.from({ length: 256 }, (_, k) => 0.2 * Math.sin(i * 12.9898 + k * 78.233));

  it('consists of recorded deviations', async () => {
    const arrays = { mine: data.deviations(500, 256, draw) };
    const options = { noise: 'samples:mine', arrays, estimators: ['mc:500', 'taylor', 'probit:40'], seed: 3 };
    const rows = await model.estimate(point(0, 4), options);
    expect(rows.every(({ p }) => p !== null)).toBe(true);
    if (!existsSync(native)) return;
    const path = file('deviations.npy', npy('<f4', [500, 256], bytesOf(arrays.mine.data as Float32Array)));
    const words = ['--limit', '4', '--seed', '3', '--noise', `samples:${path}`, '--estimator', 'mc:500,taylor,probit:40'];
    const line = [digits, join(root, 'demos/digits/points.npz'), ...words, '--device', 'eigen', '--format', 'jsonl', '--quiet'];
    const expected = await data.readRows(execFileSync(native, ['estimate', ...line]));
    rows.forEach((row, i) => expect(Math.abs(row.p! - expected[i]!.p!)).toBeLessThan(2e-6));
  });

  it('is rejected in one line', () => {
    expect(() => data.deviations(0, 4, draw)).toThrow('count is 0; give a whole number of at least 1');
    expect(() => data.deviations(2, 4, draw)).toThrow('draw returned 256 numbers for draw 0; return 4');
    expect(() => data.deviations(2, 1, () => [NaN])).toThrow('draw returned NaN at position 0 of draw 0; return finite numbers');
    expect(() => data.deviations(2, 1, 5 as never)).toThrow('draw is not a function');
  });
});

it('rejects wrong options', async () => {
  const refusals: [() => Promise<unknown>, RegExp][] = [
    [() => data.readNpy(good, { scale: 0 }), /^scale is zero or not finite/],
    [() => data.readNpy(good, { offset: -1 }), /^offset is not/],
    [() => data.readNpy(good, { limit: 0 }), /^limit is not/],
    [() => data.readNpy(good, { scales: 1 } as never), /no option 'scales'/],
    [() => data.readNpy(5 as never), /^data is neither bytes/],
    [
      () => data.readData(Buffer.from('\x89PNG', 'latin1')),
      /^data is a PNG image, not data; give a .npy, IDX \(.gz too\) or .csv/,
    ],
    [() => data.readData(Buffer.from('PK\x03\x04')), /^data is a .npz or .zip archive, not data/],
    [() => data.readNpy(new Uint8Array()), /^data is empty/],
    [() => data.readNpy(join(folder, 'missing.npy')), /missing.npy cannot be loaded/],
    [() => data.readNpy(good, { signal: AbortSignal.abort() }), /aborted/],
  ];
  for (const [call, line] of refusals) expect((await errorOf(call())).message).toMatch(line);
});
