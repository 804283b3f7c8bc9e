// SPDX-License-Identifier: MIT
// Measures forward passes of the package and of ONNX Runtime Web's WebAssembly backend in turn, with one thread each, in one
// page of Chromium. Also measures the estimate `taylor` for a Fashion-MNIST image. Run it in a checkout in which the preset
// wasm is built:
//
//     node benchmarks/against_ort_web.mjs [rounds]
//
// PROBUST_SHARED, PROBUST_PACKAGE and PROBUST_CHROMIUM are the paths of the shared models, the staged package and the browser.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const shared = process.env.PROBUST_SHARED ?? join(root, '../shared');
const staged = process.env.PROBUST_PACKAGE ?? join(root, 'build/wasm/npm');
const rounds = Number(process.argv[2] ?? 41);
const batch = 64;
const models = ['cifar10_resnet_2b', 'lazybogdi_fashion', 'mnistfc_256x4'];
const imagesFile = 'fashion-test-open-images-idx3-ubyte.gz';

for (const needed of [staged, join(shared, 'models')]) {
  if (existsSync(needed)) continue;
  console.log(`skipped: there is no ${needed}`);
  process.exit(77);
}

const { build } = createRequire(join(root, 'wasm/package.json'))('esbuild');
const work = join(root, 'wasm/node_modules/.cache/against_ort_web');
mkdirSync(work, { recursive: true });
/** Compiles a TypeScript source of the package or its tests. Returns the path of the module. */
async function compiled(path, platform) {
  const outfile = join(work, path.replace(/.*\/|ts$/g, '') + 'mjs');
  const packages = platform === 'node' ? 'external' : 'bundle';
  await build({ entryPoints: [join(root, path)], outfile, bundle: true, format: 'esm', target: 'es2022', platform, packages });
  return outfile;
}

await compiled('wasm/src/onnx.ts', 'browser');
const { isolation, launch, resultOf, serve } = await import(pathToFileURL(await compiled('wasm/test/server.ts', 'node')).href);

const images = gunzipSync(readFileSync(join(shared, 'data', imagesFile))).subarray(16, 16 + 8 * 784);

/** Runs in the page. */
async function measure({ models, batch, rounds, images }) {
  const ort = await import('/ort.wasm.min.mjs');
  const { createProbust } = await import('/probust.mjs');
  const { withOpenBatch } = await import('/onnx.mjs');
  ort.env.wasm.numThreads = 1;
  const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];
  const time = async (times, body) => {
    const begun = performance.now();
    const result = await body();
    times.push(performance.now() - begun);
    return result;
  };
  const probust = await createProbust();
  const forwards = [];
  for (const name of models) {
    const bytes = new Uint8Array(await (await fetch(`/${name}.onnx`)).arrayBuffer());
    const model = await probust.loadModel(bytes);
    const session = await ort.InferenceSession.create(withOpenBatch(bytes));
    const { name: input, shape } = session.inputMetadata[0];
    const size = model.info.pointShape.reduce((product, extent) => product * extent, 1);
    const x = Float32Array.from({ length: batch * size }, (_, i) => ((i + 1) * 0.6180339887498949) % 1);
    const tensor = new ort.Tensor('float32', x, [batch, ...shape.slice(1)]);
    const own = [];
    const other = [];
    let apart = 0;
    for (let round = 0; round < rounds + 5; ++round) {
      const a = await time(own, () => model.logits(x));
      const b = (await time(other, () => session.run({ [input]: tensor })))[session.outputNames[0]].data;
      apart = Math.max(...a.map((logit, i) => Math.abs(logit - b[i])));
    }
    forwards.push({ name, own: median(own.slice(5)), other: median(other.slice(5)), apart });
    await session.release();
    model.dispose();
  }
  const fashion = await probust.loadModel('/lazybogdi_fashion.onnx', { mean: [0.5], std: [0.5] });
  const taylor = [];
  for (let round = 0; round < rounds + 5; ++round) {
    const x = Float32Array.from(images.slice(784 * (round % 8), 784 * ((round % 8) + 1)), (byte) => byte / 255);
    await time(taylor, () => fashion.estimate(x, { noise: 'gaussian:0.1', estimators: 'taylor' }));
  }
  return { runtime: ort.env.versions.web, forwards, taylor: median(taylor.slice(5)) };
}

const setting = JSON.stringify({ models, batch, rounds, images: Array.from(images) });
writeFileSync(
  join(work, 'page.html'),
  `<!doctype html><meta charset="utf-8"><pre id="result"></pre><script type="module">
const show = (value) => { document.querySelector('#result').textContent = JSON.stringify(value); };
(${measure})(${setting}).then(show, (error) => show({ failed: String(error) }));
</script>`,
);
const runtime = join(root, 'wasm/node_modules/onnxruntime-web/dist');
// Isolated pages have a clock of higher resolution.
const server = await serve([work, staged, runtime, join(shared, 'models')], isolation);
const browser = await launch();
try {
  const answer = JSON.parse(await resultOf(browser, `${server.url}/page.html`, 600_000));
  if (answer.failed) throw new Error(answer.failed);
  const milliseconds = (value) => value.toFixed(2).padStart(10);
  console.log(
    `medians of ${rounds} turns at batch ${batch}, milliseconds; onnxruntime-web ${answer.runtime}, WebAssembly, one thread`,
  );
  console.log('model                  probust  ORT Web   ORT/probust  largest difference of logits');
  for (const { name, own, other, apart } of answer.forwards) {
    const ratio = (other / own).toFixed(2).padStart(13);
    console.log(`${name.padEnd(19)}${milliseconds(own)}${milliseconds(other)}${ratio}  ${apart.toExponential(1)}`);
  }
  console.log(`full taylor estimate of a Fashion-MNIST image (lazybogdi_fashion): ${answer.taylor.toFixed(2)} ms`);
} finally {
  await browser.close();
  server.close();
}
