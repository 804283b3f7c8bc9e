// SPDX-License-Identifier: MIT
// The package in a real browser: as module scripts and plain scripts, in the page and in workers, with and without a strict
// content security policy, with and without cross-origin isolation.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Row } from '../../build/wasm/npm/types/index.js';
import { load, point, root, staged } from './support.js';
import { isolation, launch, resultOf, serve, strictPolicy, type Browser, type Headers } from './server.js';

const x = Array.from(point(0, 3));
const options = { noise: ['gaussian:0.1', 'gaussian:0.3'], estimators: ['taylor', 'mmse:10', 'probit:40', 'mc:500'], seed: 4 };

/** The script of a page. `body` passes its result to the function `result`, which converts it to JSON. */
const script = (load: string, body: string) => `${load}
const result = (value) => { document.querySelector('#result').textContent = JSON.stringify(value); };
(async () => {
  const x = ${JSON.stringify(x)}, options = ${JSON.stringify(options)};
  ${body}
})().catch((error) => result({ failed: String(error), code: error.code, cause: String(error.cause) }));
`;
const asModule = "import { createProbust } from '/probust.mjs';";
const asCompat = "import { createProbust } from '/compat.mjs';";
const asScript = 'const { createProbust } = globalThis.probust;';
const withoutSimd = 'WebAssembly.validate = () => false;';

const estimate = (created: string) => `
  const probust = await createProbust(${created});
  const model = await probust.loadModel('/digits.onnx');
  result({ workers: probust.workers, isolated: globalThis.crossOriginIsolated, rows: await model.estimate(x, options) });`;

interface Answer {
  workers: number;
  isolated: boolean;
  rows: Row[];
}

let browser: Browser;
let expected: Row[];
let pages: string;
beforeAll(async () => {
  browser = await launch();
  pages = mkdtempSync(join(tmpdir(), 'probust-pages-'));
  const probust = await (await load()).createProbust();
  expected = await (await probust.loadModel(join(root, 'demos/digits/digits.onnx'))).estimate(x, options);
});
afterAll(async () => {
  await browser?.close();
  rmSync(pages, { recursive: true, force: true });
});

let number = 0;
/** Runs a page with this script and returns its result. The script is a module or, if `plain`, a script after the package's. */
async function run(headers: Headers, text: string, plain = false): Promise<Answer> {
  const name = `page${++number}`;
  const scripts = plain
    ? `<script src="/probust.iife.js"></script><script src="/${name}.js"></script>`
    : `<script type="module" src="/${name}.js"></script>`;
  writeFileSync(join(pages, `${name}.js`), text);
  writeFileSync(join(pages, `${name}.html`), `<!doctype html><meta charset="utf-8"><pre id="result"></pre>${scripts}`);
  const server = await serve([pages, staged, join(root, 'demos/digits')], headers);
  try {
    return JSON.parse(await resultOf(browser, `${server.url}/${name}.html`)) as Answer;
  } finally {
    server.close();
  }
}

describe.each<[string, Record<string, string>]>([
  ['without a policy', {}],
  ['under a strict policy', { 'content-security-policy': strictPolicy }],
  ['isolated, under a strict policy', { ...isolation, 'content-security-policy': strictPolicy }],
])('%s', (_, headers) => {
  it.each<[string, string, boolean]>([
    ['in the page', script(asModule, estimate('{}')), false],
    ['in a worker', script(asModule, estimate('{ worker: true }')), false],
    ['in two workers', script(asModule, estimate('{ threads: 2 }')), false],
    ['from a plain script', script(asScript, estimate('{}')), true],
    ['from a plain script, in a worker', script(asScript, estimate('{ worker: true }')), true],
  ])('gives the same rows as in node, %s', async (_name, text, plain) => {
    const answer = await run(headers, text, plain);
    expect(answer.rows).toEqual(expected);
    expect(answer.isolated).toBe('cross-origin-opener-policy' in headers);
  });

  it('needs no second file if the module is inlined', async () => {
    expect((await run(headers, script(asCompat, estimate('{}')))).rows).toEqual(expected);
  });

  it.each([asModule, asCompat])('names the requirements if SIMD is missing: %s', async (by) => {
    const answer = (await run(headers, script(by, withoutSimd + estimate('{}')))) as unknown as Record<string, string>;
    expect(answer.code).toBe('environment');
    expect(answer.failed).toContain('Safari 16.4');
  });
});

describe('threads that share memory', () => {
  const asThreads = "import { createProbust } from '/threads.mjs';";
  const isolated = { ...isolation, 'content-security-policy': strictPolicy };

  it.each([1, 2, 5])('give the same rows as one: %i', async (threads) => {
    const answer = await run(isolated, script(asThreads, estimate(`{ threads: ${threads}, workerUrl: '/threads/worker.mjs' }`)));
    expect(answer.rows).toEqual(expected);
    expect(answer.isolated).toBe(true);
  });

  /** The result of a script that can use `probust`, with two threads, and `model`. */
  const onTwo = (body: string): Promise<unknown> => {
    const loaded = "const probust = await createProbust({ threads: 2 }); const model = await probust.loadModel('/digits.onnx');";
    return run(isolated, script(asThreads, loaded + body));
  };

  it('ask for the samples of a function', async () => {
    const answer = (await onTwo(`
      const { perturbation } = await import('/function.mjs');
      const bright = perturbation((x, z) => x.map((value) => Math.min(1, Math.max(0, value + 0.3 * z[0]))), 1, 'bright');
      const asked = { estimators: ['mc:1000', 'quadrature:64'], seed: 5 };
      const own = await model.estimate(x, { ...asked, noise: bright });
      result({ own, family: await model.estimate(x, { ...asked, noise: 'brightness:0.3' }) });`)) as Record<string, Row[]>;
    answer.own!.forEach(({ p }, i) => expect(Math.abs(p! - answer.family![i]!.p!)).toBeLessThan(5e-3));
    expect(answer.own!.length).toBeGreaterThan(1);
  });

  it('stop on an abort, and keep working', async () => {
    const answer = (await onTwo(`
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 300);
      const call = model.estimate(x, { noise: 'gaussian:0.1', estimators: 'mc:100000000', signal: controller.signal });
      const code = await call.catch((error) => error.code);
      result({ code, rows: await model.estimate(x, options) });`)) as { code: string; rows: Row[] };
    expect(answer.code).toBe('aborted');
    expect(answer.rows).toEqual(expected);
  });

  it('end with the library, in the middle of a call', async () => {
    const answer = (await onTwo(`
      const call = model.estimate(x, { noise: 'gaussian:0.1', estimators: 'mc:100000000' }).catch((error) => error.code);
      setTimeout(() => probust.dispose(), 200);
      result({ code: await call });`)) as Record<string, string>;
    expect(answer.code).toBe('disposed');
  });

  it.each(['0', '1e6', 'NaN'])('cannot be %s', async (threads) => {
    const answer = (await run(isolated, script(asThreads, estimate(`{ threads: ${threads} }`)))) as unknown as Record<
      string,
      string
    >;
    expect(answer.code).toBe('usage');
    expect(answer.failed).toContain('1 to 256');
  });

  it.each([
    ["{ workerUrl: '/nowhere/worker.mjs' }", 'environment', 'the folder threads/'],
    ["{ workerUrl: 'http://[' }", 'usage', 'http://['],
    [
      "{ workerUrl: 'http://example.invalid/worker.mjs', wasmUrl: '/threads/probust-threads.wasm' }",
      'environment',
      'cannot start http://example.invalid/worker.mjs',
    ],
  ])('name the missing file: %s', async (options, code, words) => {
    const answer = (await run(isolated, script(asThreads, estimate(options)))) as unknown as Record<string, string>;
    expect(answer.code).toBe(code);
    expect(answer.failed).toContain(words);
  });

  it('say that their files also need headers', async () => {
    const page = (path: string) => (path.startsWith('/threads/') ? {} : isolated);
    const answer = (await run(page, script(asThreads, estimate('{ threads: 2 }')))) as unknown as Record<string, string>;
    expect(answer.code).toBe('environment');
    expect(answer.failed).toContain('its files also need Cross-Origin-Embedder-Policy');
  });

  it('name the headers that a page without shared memory needs', async () => {
    const answer = (await run({}, script(asThreads, estimate('{ threads: 2 }')))) as unknown as Record<string, string>;
    expect(answer.code).toBe('environment');
    expect(answer.failed).toContain('Cross-Origin-Embedder-Policy');
  });
});

// Another origin may be, for example, a content delivery network.
it.each([
  ['a module', (url: string) => `import { createProbust } from '${url}/probust.mjs';`],
  ['the inlined module', (url: string) => `import { createProbust } from '${url}/compat.mjs';`],
])('starts workers of another origin by %s', async (_, from) => {
  const elsewhere = await serve([staged], { 'access-control-allow-origin': '*' });
  try {
    const answer = await run({}, script(from(elsewhere.url), estimate('{ threads: 2 }')));
    expect(answer).toMatchObject({ workers: 2, rows: expected });
    const policy = (workers: string) => ({
      'content-security-policy': `${strictPolicy} ${elsewhere.url}; connect-src 'self' ${elsewhere.url}; worker-src ${workers}`,
    });
    const text = script(from(elsewhere.url), estimate('{ worker: true }'));
    expect(await run(policy(`blob: ${elsewhere.url}`), text)).toMatchObject({ workers: 1, rows: expected });
    expect(await run(policy("'self'"), text)).toMatchObject({ code: 'environment' });
  } finally {
    elsewhere.close();
  }
});

it('works in a classic worker', async () => {
  writeFileSync(
    join(pages, 'classic.js'),
    `importScripts('/probust.iife.js');
    (async () => {
      const model = await (await probust.createProbust()).loadModel('/digits.onnx');
      postMessage(await model.estimate(${JSON.stringify(x)}, ${JSON.stringify(options)}));
    })().catch((error) => postMessage(String(error)));`,
  );
  const answer = await run({}, script('', "new Worker('/classic.js').onmessage = ({ data }) => result({ rows: data });"));
  expect(answer).toEqual({ rows: expected });
});

it('keeps the page alive and stops on an abort', { retry: 2 }, async () => {
  const answer = (await run(
    {},
    script(
      asModule,
      `
    const probust = await createProbust();
    const model = await probust.loadModel(await fetch('/digits.onnx'));
    let frames = 0, longest = 0, before = performance.now();
    const count = () => { ++frames; const now = performance.now(); longest = Math.max(longest, now - before); before = now; requestAnimationFrame(count); };
    requestAnimationFrame(count);
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 1500);
    const call = model.estimate(x, { noise: 'gaussian:0.1', estimators: 'mc:10000000', signal: controller.signal });
    const code = await call.catch((error) => error.code);
    result({ code, frames, longest, again: (await model.estimate(x, options)).length });`,
    ),
  )) as unknown as Record<string, number | string>;
  expect(answer).toMatchObject({ code: 'aborted', again: expected.length });
  expect(answer.frames).toBeGreaterThan(8);
  // Without a worker, the page would freeze for the whole call. Other processes can also delay a frame.
  expect(answer.longest).toBeLessThan(1000);
});

it('names the option if the module is not served', async () => {
  const answer = (await run({}, script(asModule, "await createProbust({ wasmUrl: '/nowhere.wasm' })"))) as unknown as Record<
    string,
    string
  >;
  expect(answer.code).toBe('environment');
  expect(answer.failed).toContain('wasmUrl');
});

it('reports a policy that forbids WebAssembly', async () => {
  const forbidden = { 'content-security-policy': "default-src 'self'; script-src 'self'" };
  const answer = (await run(forbidden, script(asModule, estimate('{}')))) as unknown as Record<string, string>;
  expect(answer.code).toBe('environment');
});
