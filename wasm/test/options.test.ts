// SPDX-License-Identifier: MIT
// With every event, budget and option of `probust estimate`, the numbers are the same as on the command line; so are analyses of
// rows.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EstimateOptions, Model, Probust, Row } from '../../build/wasm/npm/types/index.js';
import { floats, onnx, port } from '../split/onnx.js';
import { digits, errorOf, load, native, point, root, staged } from './support.js';

type AnalysisEntry = typeof import('../../build/wasm/npm/types/analysis.js');
declare const importByNode: <T>(url: string) => Promise<T>; // load.mjs defines it

const { createProbust } = await load();
const analysis = await importByNode<AnalysisEntry>(pathToFileURL(join(staged, 'analysis.mjs')).href);
const data = join(root, 'demos/digits/points.npz');
const [first, count] = [3, 37]; // of the demo's 40 points
const labels = Array.from({ length: first + count }, (_, i) => (i * i) % 10);

const camel = (key: string): string => key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
/** Renames the fields of the command line's JSON to the names that the package uses. */
function renamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renamed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [camel(key), renamed(each)]));
}

const command = (words: string[], device = 'eigen'): string =>
  execFileSync(native, [...words, '--quiet', '--device', device, '--seed', '5'], { encoding: 'utf8', maxBuffer: 1 << 28 });
const rowsOf = (text: string): Row[] =>
  text
    .trim()
    .split('\n')
    .map((line) => renamed(JSON.parse(line)) as Row);

/** Expects equal objects, except that numbers may differ by `tolerance`. */
function expectClose(actual: unknown, expected: unknown, tolerance: number, where = ''): void {
  if (typeof expected === 'number' && typeof actual === 'number') {
    const allowed = tolerance * Math.max(1, Math.abs(expected));
    expect(Math.abs(actual - expected), `${where}: ${actual} for ${expected}`).toBeLessThanOrEqual(allowed);
    return;
  }
  if (typeof expected !== 'object' || expected === null) return expect(actual, where).toEqual(expected);
  for (const [key, value] of Object.entries(expected)) {
    expectClose((actual as Record<string, unknown>)[key], value, tolerance, `${where}.${key}`);
  }
  if (Array.isArray(expected)) expect(actual, where).toHaveLength(expected.length);
}

const keys = [
  'index',
  'label',
  'predicted',
  'target',
  'noise',
  'estimator',
  'status',
  'method',
  'forwards',
  'backwards',
] as const;
const numbers = ['p', 'pFail', 'stdError', 'ciLow', 'ciHigh'] as const;

const largest = { compared: 0, difference: 0, otherDevice: 0 };

/** Whether two rows have the same numbers, apart from rounding. */
function sameNumbers(row: Row, other: Row): boolean {
  const pairs = [...numbers.map((key) => [row[key], other[key]]), ...(other.classes ?? []).map((p, c) => [row.classes?.[c], p])];
  const apart = Math.max(...pairs.map(([a, b]) => (a === b ? 0 : Math.abs(a! - b!))));
  if (!(apart <= 1e-6)) return false;
  largest.difference = Math.max(largest.difference, apart);
  ++largest.compared;
  return true;
}

const all = ['mc:200', 'probit:40', 'taylor', 'regression:60', 'probit:40:learned', 'probit:40:shared', 'auto:60'];
const many = ['gaussian:0.1', 'gaussian:0.2', 'gaussian:0.3'];
const cases: [string, string[], Partial<EstimateOptions>][] = [
  ['labels', [], {}],
  ['a target by label', ['--target', 'label'], { target: 'label' }],
  ['one target for all', ['--target', '3'], { target: 3 }],
  [
    'groups',
    ['--groups', '0,1/2,3,4', '--estimator', 'mc:200,mmse:10,taylor'],
    { groups: '0,1/2,3,4', estimators: ['mc:200', 'mmse:10', 'taylor'] },
  ],
  [
    'every class',
    ['--per-class', '--estimator', 'mc:200,mmse:10,taylor'],
    { perClass: true, estimators: ['mc:200', 'mmse:10', 'taylor'] },
  ],
  ['the three largest', ['--top', '3', '--estimator', 'mc:200,auto:60'], { top: 3, estimators: ['mc:200', 'auto:60'] }],
  ['a budget', ['--budget', '80', '--estimator', 'auto,taylor'], { budget: 80, estimators: ['auto', 'taylor'] }],
  ['independent errors', ['--independent', '--estimator', 'auto:80'], { independent: true, estimators: 'auto:80' }],
  ['shared draws', ['--share', 'draws', '--estimator', 'probit:24'], { share: 'draws', estimators: 'probit:24' }],
  [
    'a total budget',
    ['--total-budget', '4000', '--estimator', 'auto,mc:50'],
    { totalBudget: 4000, estimators: ['auto', 'mc:50'] },
  ],
  [
    'calibration',
    ['--calibrate', '--estimator', 'probit:40,mc:50,regression:60'],
    { calibrate: true, estimators: ['probit:40', 'mc:50', 'regression:60'] },
  ],
  [
    'smoothing',
    ['--smooth', '--estimator', 'mc:200,probit:40,auto:60'],
    { smooth: true, estimators: ['mc:200', 'probit:40', 'auto:60'] },
  ],
  [
    'clipping and levels',
    ['--clip', '0', '1', '--levels', '256', '--estimator', 'mc:200,probit:40'],
    { clip: [0, 1], levels: 256, estimators: ['mc:200', 'probit:40'] },
  ],
];

describe.skipIf(!existsSync(native)).each([
  ['in this thread', {}],
  ['in two workers', { threads: 2 }],
])('%s', (_, created) => {
  const folder = mkdtempSync(join(tmpdir(), 'probust-options-'));
  const labelFile = join(folder, 'labels.txt');
  let probust: Probust;
  let model: Model;
  beforeAll(async () => {
    writeFileSync(labelFile, labels.join('\n'));
    probust = await createProbust(created);
    model = await probust.loadModel(digits);
  });
  afterAll(() => {
    probust.dispose();
    rmSync(folder, { recursive: true, force: true });
  });
  const run = (command: string): string[] => [
    command,
    digits,
    data,
    '--labels',
    labelFile,
    '--offset',
    '3',
    '--limit',
    `${count}`,
  ];
  const noise = many.flatMap((text) => ['--noise', text]);
  const base: EstimateOptions = {
    ...{ noise: many, estimators: all, seed: 5, index: first, labels: labels.slice(first) },
    check: false,
  };

  it.each(cases)('%s', async (_what, words, options) => {
    const given = words.includes('--estimator') ? [] : ['--estimator', all.join()];
    const line = [...run('estimate'), ...noise, ...given, ...words, '--format', 'jsonl'];
    const rows = await model.estimate(point(first, count), { ...base, ...options });
    const expected = rowsOf(command(line));
    expect(rows).toHaveLength(expected.length);
    const others = rows.flatMap((row, i) => (sameNumbers(row, expected[i]!) ? [] : [i]));
    rows.forEach((row, i) => {
      for (const key of keys) expect(row[key], `${key} of ${JSON.stringify(expected[i])}`).toEqual(expected[i]![key]);
    });
    largest.otherDevice += others.length;
    // Rounding may decide which gradients are used at a point; the command's rows differ between devices for the same reason.
    expect(others.length).toBeLessThanOrEqual(2);
    if (others.length === 0) return;
    const elsewhere = ['reference', 'cpu'].map((device) => rowsOf(command(line, device)));
    for (const i of others) {
      const same = elsewhere.some((device) => sameNumbers(rows[i]!, device[i]!));
      expect(same, `${JSON.stringify(rows[i])}\n${JSON.stringify(expected[i])}`).toBe(true);
    }
  });

  it('blocks that begin at the same positions', async () => {
    const parts = Array.from({ length: 7 }, () => Array.from(point(first, count))).flat();
    const asked = { noise: 'gaussian:0.3', estimators: ['probit:12:pooled', 'mc:10'], seed: 5, index: 250 };
    const rows = await model.estimate(parts, asked);
    const six = await model.estimate(parts.slice(0, 6 * 256), asked); // up to position 256
    const rest = await model.estimate(parts.slice(6 * 256), { ...asked, index: 256 });
    expect(rows).toEqual([...six, ...rest]);
  });

  it('names of classes', async () => {
    const names = Array.from({ length: 10 }, (_, c) => `digit ${c}`);
    const named = await probust.loadModel(digits, { classNames: names });
    const asked = { noise: many, estimators: 'mc:200', seed: 5 };
    const x = point(3, 4);
    const byName = { labels: ['digit 3', 'digit 4', 5, 'digit 6'], target: 'label' };
    expect(await named.estimate(x, { ...asked, ...byName })).toEqual(
      await model.estimate(x, { ...asked, labels: [3, 4, 5, 6], target: [3, 4, 5, 6] }),
    );
    expect(await named.estimate(x, { ...asked, target: 'digit 8' })).toEqual(await model.estimate(x, { ...asked, target: 8 }));
    expect(
      await named.estimate(x, {
        ...asked,
        groups: [
          ['digit 1', 2],
          ['digit 3', 'digit 4'],
        ],
      }),
    ).toEqual(await model.estimate(x, { ...asked, groups: '1,2/3,4' }));
    const wrong = await errorOf(named.estimate(x, { ...asked, target: 'eight' }));
    expect(wrong.message).toBe("target cannot be 'eight'; use predicted, label, a class number or a class name");
    const missing = await errorOf(model.estimate(x, { ...asked, target: 'label' }));
    expect(missing.message).toBe('target label needs labels, which the data do not have; give them with labels');
    const sweep = { sigmas: [0.2, 0.3], estimator: 'mc:100', seed: 5 };
    const one = point(3);
    expect((await named.sweep(one, { ...sweep, groups: '7,8,9' })).p[1]).toBe(
      (await named.estimate(one, { ...asked, noise: 'gaussian:0.3', estimators: 'mc:100', groups: '7,8,9' }))[0]!.p,
    );
  });

  it('regression models within a tolerance', async () => {
    const bytes = onnx({
      inputs: [port('x', ['N', 2])],
      outputs: [port('y', ['N', 1])],
      constants: [floats('w', [2, 1], [1, 2])],
      nodes: [
        { op: 'MatMul', inputs: ['x', 'w'], output: 'z' },
        { op: 'Sin', inputs: ['z'], output: 'y' },
      ],
    });
    const [path, table] = [join(folder, 'm.onnx'), join(folder, 'x.csv')];
    writeFileSync(path, bytes);
    const x = Array.from({ length: 140 }, (_, i) => Math.fround(i * 0.37));
    writeFileSync(table, Array.from({ length: 70 }, (_, i) => `${x[2 * i]},${x[2 * i + 1]},0`).join('\n'));
    const words = ['--tolerance', '0.4', '--sigma', '0.1,0.2', '--estimator', 'taylor,mc:200', '--per-class'];
    const expected = rowsOf(command(['estimate', path, table, ...words, '--format', 'jsonl']));
    const regression = await probust.loadModel(path, { tolerance: 0.4 });
    const asked = { noise: ['gaussian:0.1', 'gaussian:0.2'], estimators: ['taylor', 'mc:200'], perClass: true, seed: 5 };
    const rows = await regression.estimate(x, asked);
    expect(rows).toHaveLength(280);
    expectClose(rows, expected, 2e-6);
    expect(regression.info).toMatchObject({ classes: 3, classNames: ['below', 'above', 'within'], pointShape: [2] });
    expect(Array.from(await regression.logits([1, 0.5]))).toEqual([Math.fround(Math.sin(2))]);
    const curve = await regression.sweep(x.slice(0, 2), { sigmas: [0.1, 0.2], estimator: 'taylor', seed: 5 });
    expect(Array.from(curve.p)).toEqual([rows[0]!.p, rows[2]!.p]);
    const refusals: [() => Promise<unknown>, RegExp][] = [
      [
        () => regression.estimate(x, { ...asked, target: 0 }),
        /^target applies to classifiers, but tolerance to regression models/,
      ],
      [() => regression.estimate(x, { ...asked, groups: '0,1' }), /^groups applies to classifiers/],
      [() => regression.sweep(x.slice(0, 2), { sigmas: [1], top: 2 }), /^top applies to classifiers/],
      [() => regression.cloud(x.slice(0, 2), { noise: 'gaussian:1' }), /^cloud is for classifiers/],
      [() => regression.nearestBoundary(x.slice(0, 2)), /^nearestBoundary is for classifiers/],
      [() => probust.loadModel(path, { tolerance: 0 }), /^tolerance /],
      [() => probust.loadModel(path, { tolerance: 'a' as never }), /^tolerance is not a number/],
      [() => probust.loadModel(digits, { tolerance: NaN }), /^tolerance /],
    ];
    for (const [call, line] of refusals) {
      const error = await errorOf(call());
      expect([error.code, error.message]).toEqual(['usage', expect.stringMatching(line)]);
    }
  });

  it('analyses of rows', async () => {
    const rows = await model.estimate(point(first, count), { ...base, estimators: ['mc:200', 'probit:40'] });
    const words = [...noise, '--estimator', 'mc:200,probit:40', '--json'];
    const json = (operation: string, ...more: string[]) =>
      renamed(JSON.parse(command([...run(operation), ...words, ...more]))) as Record<string, unknown[]>;
    // A run stores warnings; rows only mention them in their notes.
    const { information: _, warnings: __, ...summary } = json('summary');
    expectClose(await analysis.summary(probust, rows), summary, 2e-6, 'summary');
    const bias = json('bias').groups as { classes: { name?: string }[] }[];
    bias.forEach(({ classes }) => classes.forEach((entry) => delete entry.name));
    expectClose(await analysis.bias(probust, rows), bias, 2e-6, 'bias');
    const rank = await analysis.rank(probust, rows, { count: 4 });
    expectClose(rank, json('rank', '--count', '4').groups, 2e-6, 'rank');
    expect(rank[0]!.least).toHaveLength(4);
    const logits = await model.logits(point(first, count));
    expectClose(await analysis.agree(probust, rows, { logits, index: first }), json('agree').pairs, 5e-6, 'agree');
    expect(await analysis.agree(probust, rows)).toHaveLength(3);
    expectClose(
      await analysis.curve(probust, rows, { threshold: 0.8 }),
      json('curve', '--threshold', '0.8').curves,
      2e-5,
      'curve',
    );
    const boundaries = await analysis.boundaries(model, point(first, count), { seed: 5, index: first });
    const distances = await analysis.distance(probust, rows, { boundaries, confidence: 0.99 });
    expectClose(distances, json('distance', '--confidence', '0.99').groups, 1e-4, 'distance');
  });

  it('warnings and notes for labels that do not match', async () => {
    const shifted = Array.from({ length: first + count }, (_, i) => (i + 1) % 10);
    const file = join(folder, 'shifted.txt');
    writeFileSync(file, shifted.join('\n'));
    const words = [...run('estimate').map((word) => (word === labelFile ? file : word)), ...noise, '--estimator', 'mc:20,taylor'];
    const warnings: string[] = [];
    const rows = await model.estimate(point(first, count), {
      ...{ ...base, labels: shifted.slice(first), estimators: ['mc:20', 'taylor'] },
      check: true,
      onWarning: (warning) => warnings.push(warning),
    });
    const flags = (text: string) => text.replace(/--([a-z-]+)/g, (_, flag: string) => camel(flag.replaceAll('-', '_')));
    const notes = rowsOf(command([...words, '--format', 'jsonl'])).map(({ note }) => note && flags(note));
    expect(rows.map(({ note }) => note)).toEqual(notes);
    expect(notes[0]).toContain('see the warning');
    const summary = JSON.parse(command(['summary', ...words.slice(1), '--json'])) as { warnings: string[] };
    expect(warnings).toEqual(summary.warnings.map(flags));
  });

  it('rejects rows that it cannot analyse', async () => {
    const rows = await model.estimate(point(0), { noise: 'gaussian:0.1', estimators: 'mc:10' });
    const refusals: [() => Promise<unknown>, RegExp][] = [
      [() => analysis.summary(probust, []), /^rows are missing; pass the rows that estimate\(\) returned/],
      [() => analysis.summary(probust, 5 as never), /^the rows for summary are not a list/],
      [() => analysis.summary({} as never, rows), /not a result of createProbust/],
      [() => analysis.bias(probust, [5] as never), /^rows contain an entry that is not a row/],
      [() => analysis.bias(probust, [{ ...rows[0]!, status: 'good' as never }]), /^status cannot be 'good'/],
      [() => analysis.bias(probust, [{ ...rows[0]!, index: 'a' as never }]), /^index is not a number/],
      [() => analysis.rank(probust, rows, { count: 0 }), /^count is 0/],
      [() => analysis.rank(probust, rows, { most: 1 } as never), /no option 'most'/],
      [() => analysis.agree(probust, [...rows, { ...rows[0]!, index: 9 }], { logits: [1, 2, 3] }), /^logits has 3 numbers/],
      [() => analysis.curve(probust, rows), /^rows have a single noise scale/],
      [
        () => analysis.curve(probust, [...rows, { ...rows[0]!, noise: 'gaussian:0.2', sigma: 0.2 }], { threshold: 2 }),
        /threshold/,
      ],
      [() => analysis.distance(probust, rows, { confidence: 2 }), /confidence/],
    ];
    for (const [call, line] of refusals) {
      const error = await errorOf(call());
      expect([error.code, error.message]).toEqual(['usage', expect.stringMatching(line)]);
    }
  });
});

afterAll(() => {
  const { compared, difference, otherDevice } = largest;
  console.log(`${compared} rows, largest difference ${difference.toExponential(1)}; ${otherDevice} as on another device`);
});

if (!existsSync(native)) console.log(`skipped: there is no ${native}; build the preset release`);
