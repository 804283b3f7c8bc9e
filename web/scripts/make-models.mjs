// SPDX-License-Identifier: MIT
// Trains the bundled networks, and creates the demo's points:
//
//   node scripts/make-models.mjs           replaces the files
//   node scripts/make-models.mjs --check   compares with the files; exit status 1 if one differs
//
// The package generates the data, trains and writes the files. WebAssembly rounds in the same way everywhere, so the bytes are the same
// on every machine. Native training adds numbers in an order that depends on the processor, and small differences grow.
import { readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import './link.mjs';

const { createProbust } = await import('probust');

const networks = [
  // Models for the 2-D lab of the explorer.
  {
    file: 'web/models/three.onnx',
    data: { kind: 'spirals', count: 300, classes: 3, seed: 0 },
    training: { hidden: [16, 16], activation: 'tanh', sigma: 0.1, lambda: 0.002, seed: 0 },
    runs: [{ epochs: 200, rate: 0.01 }],
  },
  {
    file: 'web/models/moons.onnx',
    data: { kind: 'moons', count: 300, seed: 0 },
    training: { hidden: [16, 16], activation: 'relu', sigma: 0.05, seed: 0 },
    runs: [{ epochs: 120, rate: 0.01 }],
  },
  {
    file: 'web/models/six.onnx',
    data: { kind: 'blobs', count: 300, classes: 6, seed: 0 },
    training: { hidden: [16], activation: 'gelu', sigma: 0.1, lambda: 0.001, seed: 0 },
    runs: [{ epochs: 120, rate: 0.01 }],
  },
  // Models for the image lab of the explorer.
  {
    file: 'web/models/digits.onnx',
    data: { kind: 'digits', count: 20_000, seed: 0 },
    training: { hidden: [32], activation: 'gelu', sigma: 0.15, seed: 0 },
    runs: [
      { epochs: 8, rate: 0.003 },
      { epochs: 4, rate: 0.0005 },
    ],
  },
  // For the command line: pixels in [0, 1], float32 [batch, 1, 16, 16] -> logits [batch, 10].
  {
    file: 'demos/digits/digits.onnx',
    data: { kind: 'digits', count: 30_000, side: 16, noise: 0, seed: 1 },
    training: { hidden: [32, 32], activation: 'relu', sigma: 0.25, seed: 3 },
    runs: [
      { epochs: 8, rate: 0.004 },
      { epochs: 8, rate: 0.001 },
      { epochs: 8, rate: 0.0002 },
    ],
    points: 'demos/digits/points.npz',
  },
];

const check = process.argv.includes('--check');
const root = new URL('../../', import.meta.url);
let different = 0;

function settle(file, bytes) {
  const place = new URL(file, root);
  if (!check) return writeFileSync(place, bytes);
  const same = Buffer.compare(readFileSync(place), Buffer.from(bytes)) === 0;
  if (!same) different += 1;
  console.log(`${file}: ${same ? 'the same' : 'DIFFERENT'}`);
}

const generate = (probust, { kind, ...options }) => probust.data[kind](options);

// For each point, the logit of the true class minus the largest other logit.
function marginsOf(logits, { labels, classes }) {
  return Array.from(labels, (label, i) => {
    const row = logits.subarray(i * classes, (i + 1) * classes);
    return row[label] - Math.max(...row.filter((_, c) => c !== label));
  });
}

// Four points per digit at fixed quantiles of their margins (easy, medium, hard, hardest), interleaved.
function mixed(margins, labels) {
  const places = [0.875, 0.5, 0.15, 0.02];
  return Array.from({ length: 40 }, (_, k) => {
    const mine = Array.from(labels.keys()).filter((i) => labels[i] === k % 10);
    mine.sort((a, b) => margins[a] - margins[b]);
    return mine[Math.floor(places[(k + Math.floor(k / 10)) % 4] * mine.length)];
  });
}

// A .npy file: little-endian values in C order, which begin at a multiple of 64 bytes.
function npy(type, shape, values) {
  const extents = shape.length === 1 ? `${shape[0]},` : shape.join(', ');
  let text = `{'descr': '${type}', 'fortran_order': False, 'shape': (${extents}), }`;
  text += ' '.repeat(63 - ((10 + text.length) % 64)) + '\n';
  const begin = Buffer.from([0x93, ...Buffer.from('NUMPY'), 1, 0, text.length & 0xff, text.length >> 8]);
  return Buffer.concat([begin, Buffer.from(text), values]);
}

const number = (value, bytes) => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntLE(value, 0, bytes);
  return buffer;
};

// A .zip archive with uncompressed members, dated 1980 (PKWARE APPNOTE 6.3, 4.3.7, 4.3.12, 4.3.16).
function zip(members) {
  const files = [];
  const directory = [];
  let position = 0;
  for (const [name, bytes] of members) {
    const checksum = gzipSync(bytes, { level: 0 }).subarray(-8, -4); // a gzip file ends with the same CRC-32
    const size = number(bytes.length, 4);
    const fields = [number(20, 2), number(0, 4), number(0x00210000, 4), checksum, size, size, number(name.length, 2)];
    const member = [Buffer.from('PK\x03\x04'), ...fields, number(0, 2), Buffer.from(name), bytes];
    const entry = [Buffer.from('PK\x01\x02'), number(20, 2), ...fields, Buffer.alloc(12), number(position, 4)];
    files.push(...member);
    directory.push(...entry, Buffer.from(name));
    position += Buffer.concat(member).length;
  }
  const list = Buffer.concat(directory);
  const counts = [Buffer.alloc(4), number(members.length, 2), number(members.length, 2)];
  const end = [Buffer.from('PK\x05\x06'), ...counts, number(list.length, 4), number(position, 4), number(0, 2)];
  return Buffer.concat([...files, list, ...end]);
}

// Selects the demo's points, which were not used in training, and stores them as bytes.
async function settlePoints(probust, model, { data, points }) {
  const unseen = await generate(probust, { ...data, count: 4000, seed: data.seed + 1 });
  const margins = marginsOf(await model.logits(unseen.x), unseen);
  const right = margins.filter((margin) => margin > 0).length;
  console.log(
    `${points}: of ${margins.length} digits not seen in training, ${((100 * right) / margins.length).toFixed(2)}% are right`,
  );
  const chosen = mixed(margins, unseen.labels);
  const size = data.side * data.side;
  const x = chosen.flatMap((i) => Array.from(unseen.x.subarray(i * size, (i + 1) * size), (pixel) => Math.round(255 * pixel)));
  const y = Buffer.alloc(8 * chosen.length);
  chosen.forEach((i, k) => y.writeBigInt64LE(BigInt(unseen.labels[i]), 8 * k));
  const arrays = [
    ['x.npy', npy('|u1', [chosen.length, 1, data.side, data.side], Buffer.from(x))],
    ['y.npy', npy('<i8', [chosen.length], y)],
  ];
  settle(points, zip(arrays));
}

const probust = await createProbust();
for (const network of networks) {
  const training = await probust.train(await generate(probust, network.data), network.training);
  let score;
  for (const { epochs, rate } of network.runs) score = await training.run(epochs, { rate });
  const bytes = await training.save();
  console.log(`${network.file}: ${bytes.length} bytes, loss ${score.loss.toFixed(3)}, accuracy ${score.accuracy.toFixed(3)}`);
  settle(network.file, bytes);
  if (network.points) await settlePoints(probust, await training.model(), network);
}
probust.dispose();
process.exitCode = different > 0 ? 1 : 0;
