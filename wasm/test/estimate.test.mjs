// SPDX-License-Identifier: MIT
// The WebAssembly module under node: it loads the demo's model, estimates its points, and refuses what it should. Where the native
// command line has been built, its rows must agree: the same counts for mc, the same analytical p within 1e-6.
// Usage: node estimate.test.mjs FOLDER_OF_MODULE FOLDER_OF_DEMO
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inflateRawSync } from 'node:zlib';

const [folder, demo] = process.argv.slice(2);
globalThis.require ??= createRequire(import.meta.url);
globalThis.__dirname ??= folder;
const { default: createModule } = await import(pathToFileURL(join(folder, 'probust.mjs')));
const probust = await createModule({ wasmBinary: readFileSync(join(folder, 'probust.wasm')) });

// The first array of an .npz of bytes, as pixels in [0, 1].
function readPoints(path) {
  const file = readFileSync(path);
  const name = file.readUInt16LE(26), extra = file.readUInt16LE(28), size = file.readUInt32LE(18);
  const body = file.subarray(30 + name + extra, 30 + name + extra + size);
  const npy = file.readUInt16LE(8) === 8 ? inflateRawSync(body) : body;
  return Float32Array.from(npy.subarray(10 + npy.readUInt16LE(8)), (byte) => Math.fround(byte / 255));
}

const model = readFileSync(join(demo, 'digits.onnx'));
const points = readPoints(join(demo, 'points.npz'));
const loaded = probust.loadModel(model, {});
assert.equal(loaded.error, undefined);
const { classifier } = loaded;
assert.equal(classifier.classes, 10);

const estimators = ['taylor', 'taylor_mvs', 'mmse:10', 'softmax', 'mc:500'];
const point = (i) => points.subarray(256 * i, 256 * (i + 1));
for (const estimator of estimators) {
  const row = classifier.estimate(point(0), 'gaussian:0.2', estimator, 0);
  assert.equal(row.error, undefined);
  assert.equal(row.estimator, estimator);
  assert.ok(row.p >= 0 && row.p <= 1);
  assert.ok(Math.abs(row.p + row.pFail - 1) < 1e-12);
}
assert.equal(classifier.estimate(point(0), 'gaussian:0.2', 'mc:500', 3).p, classifier.estimate(point(0), 'gaussian:0.2', 'mc:500', 3).p);

// Refusals are values; the module works on afterwards.
assert.equal(classifier.estimate(point(0), 'gaussian:0', 'taylor', 0).error.code, 2);
assert.equal(classifier.estimate(point(0), 'gaussian:0.2', 'magic', 0).error.code, 2);
assert.equal(classifier.estimate(points.subarray(0, 100), 'gaussian:0.2', 'taylor', 0).error.code, 3);
assert.equal(classifier.estimate(new Float32Array(256).fill(NaN), 'gaussian:0.2', 'taylor', 0).status, 'nonfinite');
assert.equal(probust.loadModel(model.subarray(0, 1000), {}).error.code, 3);
assert.equal(probust.loadModel(new Uint8Array(0), {}).error.code, 3);
assert.equal(probust.loadModel(model, { shape: [1, 28, 28] }).error.code, 3);
assert.ok(classifier.estimate(point(0), 'gaussian:0.2', 'taylor', 0).p > 0);

const native = join(dirname(fileURLToPath(import.meta.url)), '../../build/release/bin/probust');
if (existsSync(native)) {
  // Point 0 keys the noise of every point here, so compare it alone.
  const out = execFileSync(native, ['estimate', join(demo, 'digits.onnx'), join(demo, 'points.npz'), '--limit', '1', '--sigma', '0.2,0.4',
    '--estimator', estimators.join(), '--format', 'jsonl', '--quiet'], { encoding: 'utf8' });
  for (const line of out.trim().split('\n')) {
    const expected = JSON.parse(line);
    const row = classifier.estimate(point(0), expected.noise, expected.estimator, 0);
    const tolerance = expected.estimator.startsWith('mc') ? 1.5 / expected.forwards : 1e-6;
    assert.ok(Math.abs(row.p - expected.p) <= tolerance, `${expected.estimator} at ${expected.noise}: ${row.p} here, ${expected.p} natively`);
    assert.equal(row.predicted, expected.predicted);
  }
  console.log(`agrees with ${out.trim().split('\n').length} native rows`);
}
classifier.delete();
console.log('ok');
