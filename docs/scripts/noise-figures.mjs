// SPDX-License-Identifier: MIT
// Draws the pictures of docs/noise.md from a digit of demos/digits/points.npz: node scripts/noise-figures.mjs [--check]. With
// --check, lists the pictures that are out of date. The noise comes from a separate generator, not from the program.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { colours, label, line, number, svg, width, writeFigures } from './drawing.mjs';
import { root } from './pages.mjs';

const side = 16;
const pixels = side * side;

/** The bytes of an array in an .npz file without compression, after its header. */
function arrayOf(file, name) {
  for (let at = 0; file.readUInt32LE(at) === 0x04034b50; ) {
    const [size, words, extra] = [file.readUInt32LE(at + 18), file.readUInt16LE(at + 26), file.readUInt16LE(at + 28)];
    const begin = at + 30 + words + extra;
    if (file.toString('latin1', at + 30, at + 30 + words) === name) return file.subarray(begin + 10 + file.readUInt16LE(begin + 8), begin + size);
    at = begin + size;
  }
  throw new Error(`points.npz has no ${name}`);
}

const images = arrayOf(readFileSync(join(root, 'demos/digits/points.npz')), 'x.npy');
const digit = Float64Array.from(images.subarray(2 * pixels, 3 * pixels), (byte) => byte / 255);

/** Numbers in (0, 1), the same on every machine. */
function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
  };
}

const draws = (seed, count, draw) => {
  const next = random(seed);
  return Float64Array.from({ length: count }, () => draw(next));
};
const normals = (seed, count = pixels) => draws(seed, count, (u) => Math.sqrt(-2 * Math.log(u())) * Math.cos(2 * Math.PI * u()));

/** Random numbers with a standard deviation of 1. */
const shapes = {
  gaussian: normals(1),
  uniform: draws(2, pixels, (u) => Math.sqrt(3) * (2 * u() - 1)),
  laplace: draws(3, pixels, (u) => {
    const t = u() - 0.5;
    return (-Math.sign(t) * Math.log(1 - 2 * Math.abs(t))) / Math.SQRT2;
  }),
};

/** Gray from 0 to 1, towards blue below and towards orange above. */
function colour(value) {
  const mix = (from, to, share) => from.map((each, i) => Math.round(each + (to[i] - each) * Math.min(1, share)));
  if (value < 0) return mix([0, 0, 0], [70, 140, 255], -value);
  if (value > 1) return mix([255, 255, 255], [255, 110, 0], value - 1);
  const gray = Math.round(255 * value);
  return [gray, gray, gray];
}

function crc32(bytes) {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; ++bit) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

/** A PNG whose rows are not compressed, so that its bytes are the same with every version of zlib. */
function png(columns, rows, colourAt) {
  const lines = Buffer.alloc(rows * (1 + 3 * columns));
  for (let y = 0; y < rows; ++y) {
    for (let x = 0; x < columns; ++x) lines.set(colourAt(x, y), y * (1 + 3 * columns) + 1 + 3 * x);
  }
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(data.length, 0);
    frame.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
  };
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0]);
  head.writeUInt32BE(columns, 0);
  head.writeUInt32BE(rows, 4);
  const magic = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
  return Buffer.concat([magic, chunk('IHDR', head), chunk('IDAT', deflateSync(lines, { level: 0 })), chunk('IEND', Buffer.alloc(0))]);
}

const picture = (x, y, size, image, height = size) =>
  `<image x="${number(x)}" y="${number(y)}" width="${number(size)}" height="${number(height)}" preserveAspectRatio="none" ` +
  `style="image-rendering: pixelated" href="data:image/png;base64,${image.toString('base64')}"/>`;
const pictureOf = (x, y, size, values) => picture(x, y, size, png(side, side, (column, row) => colour(values[row * side + column])));

const noisy = (noise, scale = 1) => digit.map((value, i) => value + scale * noise[i]);
const clipped = (values) => values.map((value) => Math.min(1, Math.max(0, value)));

/** The colours of values from -1 to 2. */
function scale(x, y, length) {
  const bar = png(96, 1, (column) => colour(-1 + (3 * (column + 0.5)) / 96));
  const at = (value) => x + ((value + 1) / 3) * length;
  const ticks = [-1, 0, 1, 2].map((value) => label(at(value), y + 28, String(value).replace('-', '−'), 'middle'));
  const names = [label(at(-0.5), y - 5, 'below', 'middle', 'soft'), label(at(0.5), y - 5, 'pixel', 'middle', 'soft'), label(at(1.5), y - 5, 'above', 'middle', 'soft')];
  return [picture(x, y, length, bar, 14), ...ticks, ...names];
}

/** One digit under noise of three shapes at four scales, and clipped. */
function sizes() {
  const scales = [0.05, 0.1, 0.2, 0.4];
  const [size, gap] = [86, 12];
  const left = (k) => k * (size + gap);
  const parts = [pictureOf(0, 20, size, digit), label(0, 13, 'the digit'), ...scale(left(1) + 20, 60, 220)];
  let y = 142;
  parts.push(label(0, y, 'standard deviation:', 'start', 'soft'));
  y += 20;
  scales.forEach((each, k) => parts.push(label(left(k) + size / 2, y, each, 'middle')));
  const row = (name, text, values) => {
    y += 26;
    parts.push(label(0, y, name), label(width - 2, y, text, 'end', 'soft'));
    scales.forEach((each, k) => parts.push(pictureOf(left(k), y + 8, size, values(each))));
    y += 8 + size;
  };
  row('gaussian:S', 'S is the standard deviation', (s) => noisy(shapes.gaussian, s));
  row('uniform:H', 'H = 1.73 times the standard deviation', (s) => noisy(shapes.uniform, s));
  row('laplace:B', 'B = 0.71 times the standard deviation', (s) => noisy(shapes.laplace, s));
  row('gaussian:S with --clip 0,1', 'values stay between 0 and 1', (s) => clipped(noisy(shapes.gaussian, s)));
  return svg(y + 4, parts);
}

/** Noise that differs between pixels, or that is not independent. */
function structures() {
  const [size, gap] = [112, 22];
  const column = (i) => i % side;
  const row = (i) => Math.floor(i / side);
  const white = normals(11);
  const smooth = white.map((_, i) => {
    let [sum, squares] = [0, 0];
    for (let j = 0; j < pixels; ++j) {
      const weight = Math.exp(-((column(i) - column(j)) ** 2 + (row(i) - row(j)) ** 2) / 4);
      sum += weight * white[j];
      squares += weight * weight;
    }
    return sum / Math.sqrt(squares);
  });
  const light = digit.map((_, i) => 0.6 * (column(i) / (side - 1)));
  const lines = normals(5, side);
  const cells = [
    ['gaussian:std=', 'more to the right', noisy(normals(12).map((z, i) => z * (column(i) / (side - 1))), 0.45)],
    ['gaussian:cov=', 'neighbours together', noisy(smooth, 0.25)],
    ['gaussian:factor=', 'one-sided light', noisy(light, 1)],
    ['samples:', 'recorded stripes', noisy(digit.map((_, i) => lines[row(i)]), 0.2)],
    ['gaussian:0.3@0..127', 'the upper half', noisy(shapes.gaussian.map((z, i) => (row(i) < side / 2 ? z : 0)), 0.3)],
    ['--levels 4', 'four gray levels', clipped(noisy(shapes.gaussian, 0.1)).map((value) => Math.round(3 * value) / 3)],
  ];
  const parts = cells.flatMap(([name, what, values], k) => {
    const [x, y] = [(k % 3) * (size + gap), Math.floor(k / 3) * (size + 58)];
    return [label(x, y + 14, name), label(x, y + 30, what, 'start', 'soft'), pictureOf(x, y + 38, size, values)];
  });
  return svg(2 * size + 58 + 42, parts);
}

/** The densities of three shapes with a standard deviation of 1. */
function densities() {
  const [left, right, top, bottom] = [8, 372, 30, 210];
  const x = (t) => left + ((t + 4) / 8) * (right - left);
  const y = (density) => bottom - (density / 0.75) * (bottom - top);
  const points = (from, to, density) => {
    const steps = Array.from({ length: 161 }, (_, i) => from + ((to - from) * i) / 160);
    return steps.map((t) => `${number(x(t))},${number(y(density(t)))}`);
  };
  const half = Math.sqrt(3);
  const curves = [
    points(-4, 4, (t) => Math.exp((-t * t) / 2) / Math.sqrt(2 * Math.PI)),
    [[-half, 0], [-half, 1], [half, 1], [half, 0]].map(([t, inside]) => `${number(x(t))},${number(y(inside / (2 * half)))}`),
    points(-4, 4, (t) => Math.exp(-Math.SQRT2 * Math.abs(t)) / Math.SQRT2),
  ];
  const parts = [label(left, 14, 'density', 'start', 'soft'), line(left, bottom, right, bottom, 'ink')];
  for (let t = -4; t <= 4; ++t) parts.push(line(x(t), bottom, x(t), bottom + 5, 'ink'), label(x(t), bottom + 20, String(t).replace('-', '−'), 'middle'));
  parts.push(label(right, bottom + 38, 'deviation, in standard deviations', 'end', 'soft'));
  curves.forEach((each, k) => parts.push(`<polyline points="${each.join(' ')}" class="${colours[k]}"/>`));
  ['gaussian', 'uniform', 'laplace'].forEach((name, k) => {
    parts.push(line(268, 50 + 20 * k, 290, 50 + 20 * k, colours[k], 'stroke-width="3"'), label(298, 54 + 20 * k, name));
  });
  return svg(bottom + 46, parts);
}

/** The probabilities of the next value, for each current value of a feature. */
function transitions() {
  const [left, right, height] = [92, 372, 30];
  const rows = [
    ['owns', [0.9, 0.1]],
    ['rents', [0.2, 0.8]],
  ];
  const parts = [label(0, 14, 'now', 'start', 'soft'), label(left, 14, 'in the noisy sample', 'start', 'soft')];
  rows.forEach(([name, next], k) => {
    const y = 26 + k * (height + 10);
    parts.push(label(0, y + 20, name));
    let x = left;
    next.forEach((probability, j) => {
      const length = probability * (right - left);
      parts.push(`<rect x="${number(x)}" y="${y}" width="${number(length - 2)}" height="${height}" class="${colours[j]}" fill-opacity="0.25"/>`);
      parts.push(label(x + length / 2 - 1, y + 20, length > 60 ? `${rows[j][0]} ${probability}` : probability, 'middle'));
      x += length;
    });
  });
  return svg(26 + 2 * (height + 10), parts);
}

writeFigures(
  {
    'noise-sizes.svg': sizes(),
    'noise-structures.svg': structures(),
    'noise-densities.svg': densities(),
    'noise-categories.svg': transitions(),
  },
  'noise-figures.mjs',
);
