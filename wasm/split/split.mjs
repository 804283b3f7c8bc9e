// SPDX-License-Identifier: MIT
// Splits the module into parts with Binaryen's wasm-split, by the functions that workloads call (workloads.ts). Calls between
// parts go through the function table. Until a part is loaded, the table's entries for its functions are imports
// (src/instance.ts).
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { withImports, withoutNames } from './sections.mjs';

const features = [
  'simd',
  'bulk-memory',
  'exception-handling',
  'threads',
  'mutable-globals',
  'sign-ext',
  'nontrapping-float-to-int',
];
const flags = ['--mvp-features', ...features.map((feature) => `--enable-${feature}`)];

/** Starts the module in `file` without the other parts. Returns it with the exports of its instance. */
async function start(glue, file) {
  const module = await WebAssembly.compile(readFileSync(file));
  const { default: create } = await import(pathToFileURL(glue).href);
  const lack = () => {
    throw new Error(`${file}: a workload calls a function that is not in the module`);
  };
  const lacking = WebAssembly.Module.imports(module).map((each) => [each.module, new Proxy({}, { get: () => lack })]);
  let exports;
  const raw = await new Promise((resolve, reject) => {
    const instantiateWasm = (imports, receive) => {
      const started = WebAssembly.instantiate(module, { ...Object.fromEntries(lacking), ...imports });
      started.then((instance) => receive(((exports = instance.exports), instance), module)).catch(reject);
      return {};
    };
    create({ instantiateWasm, threads: 1 }).then((made) => resolve(made), reject);
  });
  return { raw, exports };
}

/**
 * The numbers of all functions of an instrumented module, and of those functions that a workload calls. Imports are not counted.
 */
async function calledBy(workload, glue, instrumented) {
  const { raw, exports } = await start(glue, instrumented);
  workload(raw);
  const memory = Object.values(exports).find((each) => each instanceof WebAssembly.Memory);
  const pages = 4;
  const at = memory.grow(pages) * 65536;
  const size = exports.__write_profile(at, pages * 65536);
  if (size > pages * 65536) throw new Error(`the profile takes ${size} bytes`);
  // The profile has a checksum and, for each function, the time of its first call, which is 0 if it was not called.
  const view = new DataView(memory.buffer, at + 8, size - 8);
  const numbers = Array.from({ length: view.byteLength / 4 }, (_, i) => i);
  return { all: numbers, called: new Set(numbers.filter((i) => view.getUint32(4 * i, true) !== 0)) };
}

const union = (...sets) => new Set(sets.flatMap((set) => [...set]));
const minus = (set, ...others) => new Set([...set].filter((each) => !others.some((other) => other.has(each))));
const common = (a, b) => new Set([...a].filter((each) => b.has(each)));

/**
 * The functions of each part. The part for images may be loaded without the later parts, so functions that it shares with them
 * are in the first part.
 */
async function divided(workloads, glue, instrumented) {
  const of = {};
  let all;
  for (const [name, workload] of Object.entries(workloads)) {
    const calls = await calledBy(workload, glue, instrumented);
    [of[name], all] = [calls.called, calls.all];
  }
  const shared = common(of.images, union(of.more, of.curves, of.rest));
  const parts = { first: union(of.first, shared) };
  parts.images = minus(of.images, parts.first);
  parts.more = minus(union(of.more, of.moreOnImages), ...Object.values(parts));
  parts.curves = minus(union(of.curves, of.curvesOnImages), ...Object.values(parts));
  parts.rest = minus(new Set(all), ...Object.values(parts));
  return parts;
}

/**
 * The module with one import for each part and type of missing functions. wasm-split imports each missing function separately,
 * under the number of its entry in the table. But all missing functions of a part do the same: they report the part.
 */
function merged(bytes, isMissing, optimizer, work) {
  const [from, to] = [join(work, 'renamed.wasm'), join(work, 'merged.wasm')];
  writeFileSync(
    from,
    withImports(bytes, (module, name, type) => (isMissing(module) ? type : name)),
  );
  execFileSync(optimizer, [...flags, '--duplicate-import-elimination', from, '-o', to], { stdio: 'inherit' });
  return readFileSync(to);
}

/**
 * Splits `module` (.wasm, with its glue next to it) into `out`/probust.wasm and `out`/probust-NAME.wasm for the later parts.
 * `partNames` and `placeholders` are those of src/parts.ts. `workloads` maps names to functions of a running module.
 */
export async function split({ splitter, module, out, partNames, placeholders, workloads }) {
  const work = mkdtempSync(join(tmpdir(), 'probust-split-'));
  const run = (...options) => execFileSync(splitter, [...flags, ...options], { stdio: ['ignore', 'inherit', 'inherit'] });
  const [instrumented, list] = [join(work, 'instrumented.wasm'), join(work, 'functions')];
  const glue = module.replace(/wasm$/, 'mjs');
  try {
    run('--instrument', module, '-o', instrumented);
    const parts = await divided(workloads, glue, instrumented);
    let from = module;
    // wasm-split divides a module into two. The last part is therefore split off first, then the part before it from the
    // remaining module, and so on.
    for (const part of partNames.slice(1).reverse()) {
      const [kept, taken] = [join(work, `without-${part}.wasm`), join(work, `${part}.wasm`)];
      writeFileSync(list, [...parts[part]].join('\n'));
      const names = ['--import-namespace=f', `--placeholder-namespace=${placeholders(part)}`, `--export-prefix=${part[0]}`];
      run('-g', '--split', from, `--split-funcs=@${list}`, '-o1', kept, '-o2', taken, ...names);
      writeFileSync(join(out, `probust-${part}.wasm`), withoutNames(readFileSync(taken)));
      from = kept;
    }
    const first = join(out, 'probust.wasm');
    const isMissing = (module) => partNames.some((part) => module === placeholders(part));
    writeFileSync(first, withoutNames(merged(readFileSync(from), isMissing, join(dirname(splitter), 'wasm-opt'), work)));
    workloads.first((await start(glue, first)).raw); // throws if a function that it calls is in another part
  } finally {
    rmSync(work, { recursive: true });
  }
}
