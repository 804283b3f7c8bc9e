// SPDX-License-Identifier: MIT
//
// entry_points.mjs [SEED [SECONDS]]: feeds the npm package's functions random and mutated values. Each call must return a value
// or reject with a ProbustError within a minute; afterwards, the model must still work. Needs the built package (build/wasm/npm,
// or PROBUST_PACKAGE).
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const staged = process.env.PROBUST_PACKAGE ?? join(root, 'build/wasm/npm');
const [seed = 1, seconds = 60] = process.argv.slice(2).map(Number);
const { createProbust, ProbustError } = await import(pathToFileURL(join(staged, 'probust.mjs')).href);
const data = await import(pathToFileURL(join(staged, 'data.mjs')).href);

// Mulberry32.
let state = seed;
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const below = (n) => Math.floor(random() * n);
const oneOf = (list) => list[below(list.length)];

const odd = [
  undefined, null, NaN, Infinity, -1, 0, 1.5, 2 ** 53, 10n, '', 'gaussian:0.1', 'mc:10', '\u{1f600}\0', [], {}, () => 1, Symbol('s'), true,
  new Float32Array(3), new Float64Array(256), new Uint8Array(0), new Date(), [[1]], ['mc:1', null], { length: 3 }, new Map(), /x/,
]; // prettier-ignore

/** `bytes` with a few of them changed, cut or repeated. */
function mutated(bytes) {
  const copy = bytes.slice(0, random() < 0.3 ? below(bytes.length + 1) : bytes.length);
  for (let i = below(8); i > 0 && copy.length > 0; --i) copy[below(copy.length)] = oneOf([0, 1, 0x7f, 0x80, 0xff, below(256)]);
  if (random() < 0.9) return copy;
  const at = below(copy.length + 1);
  return Uint8Array.from([...copy.slice(0, at), ...copy.slice(0, below(200)), ...copy.slice(at)]);
}
const encoded = (text) => new TextEncoder().encode(text);

const digits = new Uint8Array(readFileSync(join(root, 'demos/digits/digits.onnx')));
const points = new Uint8Array(readFileSync(join(root, 'demos/digits/points.npz')));
const csv = encoded('a,b,label\n1,2.5,0\n-3e2,nan,1\n');
const x = Float32Array.from({ length: 256 }, () => random());

const probust = await createProbust();
const model = await probust.loadModel(digits);
const before = JSON.stringify(await model.estimate(x, { noise: 'gaussian:0.1', estimators: ['mc:100', 'taylor'] }));
const rows = await model.estimate(x, { noise: 'gaussian:0.1', estimators: ['mc:10'] });
const lines = encoded(data.writeRows(rows, 'jsonl'));

/** Valid options with one or two of them replaced, or one added. */
function options() {
  const all = { noise: 'gaussian:0.1', estimators: ['mc:10'], labels: [1], target: 'label', seed: 3, top: 2, perClass: true, groups: '0,1/2' };
  const chosen = Object.fromEntries(Object.entries(all).filter(([name]) => name === 'noise' || random() < 0.3));
  for (let i = 1 + below(2); i > 0; --i) chosen[oneOf([...Object.keys(all), 'sigma', 'nonsense', 'signal', 'onProgress'])] = oneOf(odd);
  return random() < 0.1 ? oneOf(odd) : chosen;
}

let last; // a model that led to a finding is kept
const calls = [
  async () => (await probust.loadModel((last = mutated(digits)))).dispose(),
  () => probust.loadModel(oneOf(odd)),
  () => model.estimate(random() < 0.3 ? oneOf(odd) : x, options()),
  () => model.logits(random() < 0.7 ? oneOf(odd) : x, oneOf(odd)),
  () => model.margins?.(oneOf(odd), options()),
  () => model.sweep?.(x, { sigmas: oneOf([[0.1], [0.1, -1], ...odd]), estimators: oneOf(['mc:10', ...odd]) }),
  () => data.readData(mutated(points)),
  () => data.readNpy(mutated(encoded('\x93NUMPY\x01\0v\0{"descr": "<f4", "fortran_order": False, "shape": (2, 3)}'))),
  () => data.readCsv(mutated(csv)),
  () => data.readIdx(mutated(Uint8Array.from([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, ...x.slice(0, 12)]))),
  () => data.readRows(new Blob([mutated(lines)])),
  () => data.writeRows(random() < 0.5 ? oneOf(odd) : [oneOf(odd), { ...rows[0], p: oneOf(odd) }], oneOf(['csv', 'jsonl', ...odd])),
  () => probust.mvn?.({ z: oneOf([[1], [1, 2], ...odd]), R: oneOf([[1], [1, 0.5, 0.5, 1], ...odd]) }),
  () => createProbust(oneOf([{ nonsense: 1 }, ...odd])).then((each) => each.dispose()),
]; // prettier-ignore

const late = (milliseconds) => new Promise((_, reject) => setTimeout(() => reject(new Error('no answer')), milliseconds).unref());
const end = Date.now() + 1000 * seconds;
let count = 0;
while (Date.now() < end) {
  const at = state;
  const call = oneOf(calls);
  try {
    await Promise.race([call(), late(60_000)]);
  } catch (error) {
    if (!(error instanceof ProbustError) || error.code === 'internal') {
      console.error(`seed ${at}: ${call}`, error);
      if (last) writeFileSync('finding.onnx', last);
      process.exit(1);
    }
  }
  ++count;
}
const after = JSON.stringify(await model.estimate(x, { noise: 'gaussian:0.1', estimators: ['mc:100', 'taylor'] }));
if (after !== before) {
  console.error('the model answers otherwise than before');
  process.exit(1);
}
probust.dispose();
console.log(`${count} calls, no finding`);
