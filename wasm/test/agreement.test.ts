// SPDX-License-Identifier: MIT
// The package computes the same numbers as the command line: the same noise for the same seed, the same counts and the same
// analytical p. Counts may differ for noisy samples at which two logits are equal up to rounding; the printed table shows how
// many.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { ModelOptions, Row } from '../../build/wasm/npm/types/index.js';
import { cases, count, dataPath, readImages } from './shared.js';
import { digits, hasShared, load, native, point, root, shared } from './support.js';

const { createProbust } = await load();
const analytical = ['taylor', 'taylor_mvs', 'mmse:10', 'mmse_mvs:4', 'softmax', 'adf', 'probit:40', 'regression:60'];
const estimators = [...analytical, 'mc:2000'];
const noises = ['gaussian:0.1', 'gaussian:0.3', 'uniform:0.2'];

// The package runs the portable backend. The default backend of the command line rounds differently, because it uses Winograd
// convolutions.
const devices = { eigen: 2e-6, cpu: 1e-5 };
type Device = keyof typeof devices;

function commandLine(device: Device, model: string, data: string, options: ModelOptions): Row[] {
  const list = (name: 'mean' | 'std') => (options[name] ? [`--${name}`, Array.from(options[name]).join()] : []);
  const noise = noises.flatMap((text) => ['--noise', text]);
  const out = execFileSync(
    native,
    [
      'estimate',
      model,
      data,
      '--limit',
      `${count}`,
      '--offset',
      '0',
      '--seed',
      '7',
      '--estimator',
      estimators.join(),
      ...noise,
      ...list('mean'),
      ...list('std'),
      '--format',
      'jsonl',
      '--quiet',
      '--threads',
      '1',
      '--device',
      device,
    ],
    { encoding: 'utf8' },
  );
  const camel = (key: string) => key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return out
    .trim()
    .split('\n')
    .map(
      (line) => Object.fromEntries(Object.entries(JSON.parse(line)).map(([key, value]) => [camel(key), value])) as unknown as Row,
    );
}

const table: string[] = [];
const difference = (a: number | null, b: number | null) =>
  a === null || b === null ? (a === b ? 0 : Infinity) : Math.abs(a - b);

async function compare(name: string, model: string, data: string, x: Float32Array, options: ModelOptions): Promise<void> {
  const probust = await createProbust();
  const loaded = await probust.loadModel(model, options);
  const actual = await loaded.estimate(x, { noise: noises, estimators, seed: 7 });
  probust.dispose();
  for (const device of Object.keys(devices) as Device[]) {
    compareRows(`${name}, ${device}`, actual, commandLine(device, model, data, options), devices[device]);
  }
}

function compareRows(name: string, actual: Row[], expected: Row[], tolerance: number): void {
  expect(actual).toHaveLength(expected.length);
  let worst = 0;
  let where = '';
  let ties = 0;
  for (const [i, row] of actual.entries()) {
    const other = expected[i]!;
    for (const key of [
      'index',
      'predicted',
      'target',
      'noise',
      'sigma',
      'estimator',
      'forwards',
      'backwards',
      'status',
      'method',
    ] as const) {
      expect(row[key], `${key} of ${other.estimator} at ${other.noise}`).toBe(other[key]);
    }
    if (row.estimator.startsWith('mc')) {
      ties += Math.round(difference(row.p, other.p) * row.forwards);
    } else {
      const apart = Math.max(difference(row.p, other.p), difference(row.pFail, other.pFail));
      if (apart > worst) where = `${row.estimator} at ${row.noise}`;
      worst = Math.max(worst, apart);
    }
  }
  table.push(
    `${name.padEnd(32)} ${String(actual.length).padStart(5)} ${worst.toExponential(1).padStart(10)} ${String(ties).padStart(8)}  ${where}`,
  );
  // Both compute margins in float32; the order of summation depends on the processor's instruction set.
  expect(worst).toBeLessThan(tolerance);
  expect(ties).toBeLessThanOrEqual(2);
}

describe.skipIf(!existsSync(native))('agrees with the command line', () => {
  afterAll(() => {
    console.log(['model, device                     rows   |p - p|   copies  largest difference', ...table].join('\n'));
  });

  it('on the demo', () => compare('digits', digits, join(root, 'demos/digits/points.npz'), point(0, count), {}));

  it.skipIf(!hasShared).each(cases)('on $model', ({ model, data, options }) => {
    return compare(model, join(shared, 'models', `${model}.onnx`), dataPath(data), readImages(data), options);
  });
});

if (!existsSync(native)) console.log(`skipped: there is no ${native}; build the preset release`);
else if (!hasShared) console.log(`skipped: there are no shared models in ${shared}; set PROBUST_SHARED`);
