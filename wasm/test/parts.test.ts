// SPDX-License-Identifier: MIT
// The module in parts, in a browser: tests which files are requested, and that results and errors are the same as with the
// complete module.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { classifier, floats, onnx, port, type NodeText } from '../split/onnx.js';
import { partNames, placeholders } from '../src/parts.js';
import { digits, load, point, staged } from './support.js';
import { launch, resultOf, serve, type Browser } from './server.js';

const x = Array.from(point(0));
/** A network with two convolutions; nothing else needs the part for images. */
const convolutions = onnx({
  inputs: [port('x', ['N', 1, 4, 4])],
  outputs: [port('y', ['N', 2])],
  constants: [
    floats(
      'F',
      [2, 1, 4, 4],
      Array.from({ length: 32 }, (_, i) => ((i * 7) % 5) - 2),
    ),
  ],
  nodes: [
    { op: 'Conv', inputs: ['x', 'F'], output: 'h' },
    { op: 'Flatten', inputs: ['h'], output: 'y' },
  ],
});
const linear: NodeText = { op: 'MatMul', inputs: ['x', 'W'], output: 'h' };
/** Models with an operator that is only in the last part (`rare`), and with one that is in no part (`unknown`). */
const rare = classifier([linear, { op: 'Celu', inputs: ['h'], output: 'y' }]);
const unknown = classifier([linear, { op: 'Nothing', inputs: ['h'], output: 'y' }]);

let browser: Browser;
let folder: string;
let pages = 0;
/** The requested paths. */
const asked: string[] = [];
const parts = () => asked.filter((path) => path.endsWith('.wasm')).map((path) => path.replace(/^\/(.*)\.wasm$/, '$1'));
/** Paths that the server rejects. */
const refused = new Set<string>();

beforeAll(async () => {
  browser = await launch();
  folder = mkdtempSync(join(tmpdir(), 'probust-parts-'));
  for (const [name, bytes] of Object.entries({ convolutions, rare, unknown, digits: readFileSync(digits) })) {
    writeFileSync(join(folder, `${name}.onnx`), bytes);
  }
});
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  asked.length = 0;
  refused.clear();
});

/** The result of `body` in a page. `body` can use `probust` and `model`, the demo's classifier. */
async function inPage(body: string, created = '{}'): Promise<unknown> {
  const name = `page${++pages}`;
  const script = `import { createProbust } from '/probust.mjs';
    const x = ${JSON.stringify(x)};
    const compiled = { count: 0 };
    for (const name of ['compile', 'compileStreaming', 'instantiateStreaming']) {
      const original = WebAssembly[name];
      WebAssembly[name] = (...given) => (++compiled.count, original(...given));
    }
    const told = ({ code, message }) => ({ code, message });
    const ask = async () => {
      const probust = await createProbust(${created});
      const model = await probust.loadModel('/digits.onnx');
      ${body}
    };
    ask().catch(told).then((value) => (document.querySelector('#result').textContent = JSON.stringify(value ?? null)));`;
  writeFileSync(join(folder, `${name}.js`), script);
  writeFileSync(
    join(folder, `${name}.html`),
    `<!doctype html><meta charset="utf-8"><pre id="result"></pre><script type="module" src="/${name}.js"></script>`,
  );
  const server = await serve([folder, staged], {}, (path) => {
    asked.push(path);
    return !refused.has(path);
  });
  try {
    return JSON.parse(await resultOf(browser, `${server.url}/${name}.html`));
  } finally {
    server.close();
  }
}

const { createProbust } = await load('compat.mjs');
const whole = await createProbust();
const wholeModel = await whole.loadModel(digits);
const noise = 'gaussian:0.2';

it('imports one function for each kind of missing function', async () => {
  const first = await WebAssembly.compile(readFileSync(join(staged, 'probust.wasm')));
  const missing = WebAssembly.Module.imports(first).filter(({ module }) =>
    partNames.some((part) => module === placeholders(part)),
  );
  expect(missing.length).toBeGreaterThan(4);
  expect(missing.length).toBeLessThan(300); // of about 2000 functions
});

const where: [string, string][] = [
  ['in the page', '{}'],
  ['in a worker', '{ worker: true }'],
];

it.each(where)('requests one file for the first estimates, %s', async (_, created) => {
  const estimators = ['mc:200', 'taylor', 'probit:50', 'softmax'];
  const rows = await inPage(
    `return model.estimate(x, { noise: '${noise}', estimators: ${JSON.stringify(estimators)} });`,
    created,
  );
  expect(rows).toEqual(await wholeModel.estimate(x, { noise, estimators }));
  expect(parts()).toEqual(['probust']);
});

it.each(where)('requests each part when a call needs it, %s', async (_, created) => {
  const body = `
    const rows = [];
    for (const estimators of ['mmse:10', 'adf', 'auto', 'subset:300', 'mc:50:stratified', 'mc:50']) {
      rows.push(...(await model.estimate(x, { noise: '${noise}', estimators })));
    }
    const { distance } = await model.nearestBoundary(x);
    return [rows, distance];`;
  const rows = [];
  for (const estimators of ['mmse:10', 'adf', 'auto', 'subset:300', 'mc:50:stratified', 'mc:50']) {
    rows.push(...(await wholeModel.estimate(x, { noise, estimators })));
  }
  const { distance } = await wholeModel.nearestBoundary(x);
  expect(await inPage(body, created)).toEqual([rows, distance]);
  expect(parts()).toEqual(['probust', 'probust-more', 'probust-curves', 'probust-rest']);
});

it.each(where)('repeats a call if a function is missing, and loads the models again, %s', async (_, created) => {
  const body = `
    const images = await probust.loadModel('/convolutions.onnx');
    const rare = await probust.loadModel('/rare.onnx');
    const logits = [];
    for (const each of [images, rare]) logits.push(Array.from(await each.logits(Array(each === rare ? 4 : 16).fill(0.5))));
    return [logits, await model.estimate(x, { noise: '${noise}', estimators: 'mc:100' })];`;
  const expected = [];
  for (const [bytes, count] of [
    [convolutions, 16],
    [rare, 4],
  ] as const) {
    expected.push(Array.from(await (await whole.loadModel(bytes)).logits(Array<number>(count).fill(0.5))));
  }
  expect(await inPage(body, created)).toEqual([expected, await wholeModel.estimate(x, { noise, estimators: 'mc:100' })]);
  expect(parts()).toEqual(['probust', 'probust-images', 'probust-rest']);
});

it.each(where)('continues running calls when a part is added, %s', async (_, created) => {
  const body = `
    const own = Float32Array.from(x);
    const long = model.estimate(own, { noise: '${noise}', estimators: 'mc:60000' });
    own.fill(0); // if the call is repeated, it must not use these zeros
    await probust.loadModel('/rare.onnx');
    const short = model.estimate(x, { noise: '${noise}', estimators: 'regression:40' });
    return [...(await long), ...(await short)];`;
  const expected = await wholeModel.estimate(x, { noise, estimators: ['mc:60000', 'regression:40'] });
  expect(await inPage(body, created)).toEqual(expected);
});

it('ignores changes that the caller makes after the call', async () => {
  const body = `
    const own = Float32Array.from(x), arrays = { s: { data: Array(256).fill(0.2), shape: [256] } };
    const rows = model.estimate(own, { noise: 'gaussian:std=s', arrays, estimators: 'regression:40' });
    own.fill(0);
    arrays.s.data.fill(9);
    return rows;`;
  const arrays = { s: { data: Array<number>(256).fill(0.2), shape: [256] } };
  const expected = await wholeModel.estimate(x, { noise: 'gaussian:std=s', arrays, estimators: 'regression:40' });
  expect(await inPage(body)).toEqual(expected);
});

it('reports the same errors as a complete module', async () => {
  const error = await whole.loadModel(unknown).catch(({ code, message }: Error & { code: string }) => ({ code, message }));
  expect(await inPage("return probust.loadModel('/unknown.onnx');")).toEqual(error);
  const misspelt = await wholeModel
    .estimate(x, { noise, estimators: 'nothing:1' })
    .catch(({ code, message }: Error & { code: string }) => ({ code, message }));
  asked.length = 0;
  expect(await inPage(`return model.estimate(x, { noise: '${noise}', estimators: 'nothing:1' });`)).toEqual(misspelt);
  expect(parts()).toEqual(['probust']);
});

it('keeps working if a part cannot be loaded, and loads it later', async () => {
  refused.add('/probust-rest.wasm');
  const body = `
    const told = ({ code, message }) => ({ code, named: message.includes('probust-rest.wasm') });
    const long = model.estimate(x, { noise: '${noise}', estimators: 'mc:60000' });
    const found = [];
    found.push(await probust.loadModel('/rare.onnx').catch(told)); // the missing part is detected during the call
    found.push(await model.slice(x, null, null, { resolution: 5 }).catch(told)); // and here before the call
    found.push(await long); // it was running in the discarded instance
    found.push(await model.estimate(x, { noise: '${noise}', estimators: 'mc:100' }));
    return found;`;
  const environment = { code: 'environment', named: true };
  const long = await wholeModel.estimate(x, { noise, estimators: 'mc:60000' });
  const rows = await wholeModel.estimate(x, { noise, estimators: 'mc:100' });
  expect(await inPage(body)).toEqual([environment, environment, long, rows]);
  expect(parts().filter((part) => part === 'probust-rest')).toHaveLength(2);
});

it('downloads and compiles each part once for all instances and workers', async () => {
  const body = `
    const others = await Promise.all([createProbust(), createProbust({ threads: 2 }), createProbust({ worker: true })]);
    for (const other of others) {
      const own = await other.loadModel('/digits.onnx');
      await own.estimate(x, { noise: '${noise}', estimators: ['regression:40', 'mc:10'] });
    }
    const late = await (await createProbust({ worker: true })).loadModel('/digits.onnx');
    await late.estimate(x, { noise: '${noise}', estimators: 'regression:40' });
    return compiled.count;`;
  expect(await inPage(body)).toBe(2);
  expect(parts()).toEqual(['probust', 'probust-more']);
});

it('stops the download only if no call waits for it', async () => {
  const body = `
    const controller = new AbortController();
    const first = createProbust({ signal: controller.signal, wasmUrl: '/probust.wasm?2' }).catch(({ code }) => code);
    const second = createProbust({ wasmUrl: '/probust.wasm?2' });
    controller.abort();
    return [await first, (await second).workers];`;
  expect(await inPage(body)).toEqual(['aborted', 0]);
});

it('has one file per name', () => {
  for (const part of partNames) {
    const file = part === 'first' ? 'probust.wasm' : `probust-${part}.wasm`;
    expect(WebAssembly.validate(readFileSync(join(staged, file)))).toBe(true);
  }
});
