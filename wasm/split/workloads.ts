// SPDX-License-Identifier: MIT
// These workloads determine the parts of the module: a part contains the functions that its workload calls. Each workload has a
// small case of everything that needs.ts lists for its part.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { estimatorsIn } from '../src/needs.js';
import type { Outcome, RawCall, RawModel, RawModule } from '../src/raw.js';
import { floats, longs, onnx, port, type NodeText } from './onnx.js';

const root = process.env.PROBUST_ROOT!;
const file = (path: string) => new Uint8Array(readFileSync(join(root, path)));

function valueOf<T>(outcome: Outcome<T>): T {
  if (outcome.error) throw new Error(outcome.error.message);
  return outcome.value;
}

/** The result of a call that runs in steps of this many milliseconds. */
function finish(call: RawCall, milliseconds: number): unknown {
  for (;;) {
    const report = call.step(milliseconds);
    if (report.error) throw new Error(report.error.message);
    if (!('value' in report)) continue;
    call.delete();
    return report.value;
  }
}

/** Runs a request twice: in one step, and in steps that are as short as possible, which call additional functions. */
function ask(model: RawModel, operation: string, args: object): void {
  for (const milliseconds of [Infinity, 0]) finish(valueOf(model.start(operation, args)), milliseconds);
}

function withModel(raw: RawModule, bytes: Uint8Array, options: object, use: (model: RawModel, x: Float32Array) => void): void {
  const model = valueOf(raw.loadModel(bytes, { ...options, threads: 1 }));
  const { pointShape } = model.info();
  const elements = pointShape.reduce((product, extent) => product * extent, 1);
  use(model, values(2 * elements));
  model.delete();
}

/** Numbers in (-1, 1) that look random. */
const values = (count: number): Float32Array => Float32Array.from({ length: count }, (_, i) => 2 * ((i * 0.618034) % 1) - 1);
const constant = (name: string, ...shape: number[]) =>
  floats(
    name,
    shape,
    Array.from(values(shape.reduce((product, extent) => product * extent, 1)), (value) => value / Math.sqrt(shape.at(-1)!)),
  );

type Chain = readonly (readonly [op: string, constants: string[], attributes?: NodeText['attributes']])[];

/** A chain of nodes; `+` adds the input of the second-to-last node, as in residual networks. */
function chain(from: string, steps: Chain): NodeText[] {
  const names = [from];
  return steps.map(([op, constants, attributes], i) => {
    const output = i === steps.length - 1 ? 'y' : `v${i}`;
    const inputs = op === '+' ? [names.at(-1)!, names.at(-3)!] : [names.at(-1)!, ...constants];
    names.push(output);
    return { op: op === '+' ? 'Add' : op, inputs, output, ...(attributes && { attributes }) };
  });
}

const side = 8;
const same = { kernel_shape: [3, 3], pads: [1, 1, 1, 1], strides: [1, 1] };
const halved = { kernel_shape: [2, 2], strides: [2, 2] };

/** A residual network for images of side 8 with the operators of most image classifiers. */
const residual = (head: Chain) =>
  onnx({
    inputs: [port('x', ['N', 3, side, side])],
    outputs: [port('y', ['N', 10])],
    constants: [
      ...[constant('F1', 4, 3, 3, 3), constant('b1', 4), constant('F2', 4, 4, 3, 3), constant('F3', 8, 4, 3, 3)],
      ...[constant('scale', 4), constant('shift', 4), constant('mean', 4), floats('var', [4], [1, 2, 3, 4])],
      ...[constant('W', 10, 8), constant('b', 10), constant('V', 8, 10), longs('flat', [0, 8])],
      ...[floats('low', [], [0]), floats('high', [], [6])],
    ],
    nodes: chain('x', [
      ['Conv', ['F1', 'b1'], same],
      ['BatchNormalization', ['scale', 'shift', 'mean', 'var']],
      ['Relu', []],
      ['Conv', ['F2'], same],
      ['+', []],
      ['MaxPool', [], halved],
      ['Conv', ['F3'], { kernel_shape: [3, 3], strides: [2, 2] }],
      ['Clip', ['low', 'high']],
      ...head,
    ]),
  });

const heads: Chain[] = [
  [
    ['GlobalAveragePool', []],
    ['Flatten', []],
    ['Gemm', ['W', 'b'], { transB: 1 }],
    ['Softmax', [], { axis: 1 }],
  ],
  [
    ['AveragePool', [], { kernel_shape: [1, 1] }],
    ['Reshape', ['flat']],
    ['Tanh', []],
    ['Dropout', []],
    ['MatMul', ['V']],
    ['Add', ['b']],
  ],
];

/** A network of dense layers with operators that many exporters write. */
const dense = onnx({
  inputs: [port('x', ['N', 6])],
  outputs: [port('y', ['N', 3])],
  constants: [constant('A', 6, 5), constant('a', 5), constant('m', 6), floats('s', [6], [1, 2, 1, 2, 1, 2]), constant('B', 5, 3)],
  nodes: chain('x', [
    ['Sub', ['m']],
    ['Div', ['s']],
    ['MatMul', ['A']],
    ['Add', ['a']],
    ['LeakyRelu', []],
    ['Sigmoid', []],
    ['Identity', []],
    ['MatMul', ['B']],
  ]),
});

const noise = ['gaussian:0.1', 'gaussian:0.5', 'uniform:0.2', 'laplace:0.1'];
const estimators = ['taylor', 'mc:300', 'probit:100', 'softmax', 'softmax:2'];
/** A diagonal and a full covariance of two numbers, by name. */
const arrays = { S: { data: [0.2, 0.05, 0.05, 0.1], shape: [2, 2] }, s: { data: [0.1, 0.3], shape: [2] } };
const planeModels = ['three', 'moons', 'six'].map((name) => `web/models/${name}.onnx`);
/** Noise scales with few and many digits, large and small, as from a slider. */
const scales = ['0.25', '0.03204', '0.5632', '1.6', '3', '12.5', '0.001'].map((scale) => `gaussian:${scale}`);
const plane = { noise: ['gaussian:0.3', 'gaussian:cov=S', 'gaussian:std=s:0.5'], arrays };

/** Invalid requests, so that reporting their errors needs no download. */
function refused(raw: RawModule, model: RawModel, x: Float32Array): void {
  const calls = [
    { x: x.subarray(1), noise: ['gaussian:0.1'], estimators: ['taylor'] },
    { x: Float32Array.of(NaN), noise: ['gaussian:0.1'], estimators: ['taylor'] },
    { x, noise: ['gaussian'], estimators: ['taylor'] },
    { x, noise: ['gaussian:0.1'], estimators: ['nothing'] },
    { x, noise: ['gaussian:0.1'], estimators: ['mc:0'] },
    { x, noise: ['gaussian:0.1'], estimators: ['mc:10'], target: [100, 100] },
    { x, noise: ['gaussian:0.1'], estimators: ['mc:10'], seed: -1 },
  ];
  for (const args of calls) {
    const outcome = model.start('estimate', args);
    if (outcome.error) continue;
    const report = outcome.value.step(1000);
    if (!report.error) throw new Error(`a workload expects an error: ${JSON.stringify({ ...args, x: args.x.length })}`);
    outcome.value.delete();
  }
  const loads: [Uint8Array, object][] = [
    [new Uint8Array(10), {}],
    [dense.subarray(0, 300), {}],
    [dense, { shape: [7] }],
    [dense, { mean: [1, 2, 3], std: [1, 2] }],
  ];
  for (const [bytes, options] of loads) {
    if (!raw.loadModel(bytes, { ...options, threads: 1 }).error) throw new Error('a workload expects an error');
  }
}

const answers = (model: RawModel, x: Float32Array) => {
  ask(model, 'logits', { x });
  ask(model, 'estimate', { x, noise, estimators, clip: [-1, 1], seed: 1 });
  ask(model, 'estimate', { x, noise, estimators, target: [0, 1], index: 3 });
  const one = x.slice(0, x.length / 2);
  ask(model, 'cloud', { x: one, noise: 'gaussian:0.3', count: 50 });
  ask(model, 'linearize', { x: one, noise: 'gaussian:0.3' });
};

/** First estimates for networks of dense layers, and in the explorer. */
export function first(raw: RawModule): void {
  if (!raw.version || raw.estimators().length === 0) throw new Error('the module says nothing about itself');
  valueOf(raw.pointsTogether({ estimators }));
  const both = (model: RawModel, x: Float32Array) => {
    answers(model, x);
    refused(raw, model, x);
  };
  withModel(raw, file('demos/digits/digits.onnx'), {}, both);
  withModel(raw, dense, { mean: [1, 2, 3, 4, 5, 6], std: [1, 2, 3, 4, 5, 6] }, both);
  for (const path of planeModels) {
    withModel(raw, file(path), {}, (model, x) => {
      const one = x.slice(0, 2);
      ask(model, 'estimate', { ...plane, x: one, estimators: ['quadrature:64', 'quadrature:256'] });
      ask(model, 'estimate', { x: one, noise: scales, estimators: ['mc:10', 'taylor', 'quadrature:64'], seed: 123456789 });
      ask(model, 'linearize', { x: one, noise: 'gaussian:cov=S', arrays });
      ask(model, 'cloud', { x: one, noise: 'gaussian:cov=S', arrays, count: 50 });
    });
  }
}

/** The same for convolutional networks. */
export function images(raw: RawModule): void {
  for (const head of heads) {
    withModel(raw, residual(head), { mean: [0.1, 0.2, 0.3], std: [1, 2, 3] }, (model, x) => answers(model, x));
  }
  withModel(raw, residual(heads[0]!), { shape: [side, side, 3] }, (model, x) => answers(model, x));
}

const numbered = (name: string) => (/^(regression|probit|auto|mmse)/.test(name) ? name.replace(/(:|$)/, ':40$1') : name);
const forms = estimatorsIn.more.map(numbered);
const budgets = ['mc', 'mmse', 'probit', 'regression'].flatMap((name) => [10, 25, 60, 400, 1000].map((n) => `${name}:${n}`));

const moreAnswers = (model: RawModel, x: Float32Array): void => {
  ask(model, 'estimate', { x, noise: noise.slice(0, 2), estimators: forms });
  const one = x.slice(0, x.length / 2);
  ask(model, 'nearestBoundary', { x: one });
  ask(model, 'linearize', { x: one, noise: 'gaussian:0.3', samples: 5 });
};

/** Additional requests of the explorer: other estimators, boundaries and data. */
export function more(raw: RawModule): void {
  withModel(raw, file('demos/digits/digits.onnx'), {}, moreAnswers);
  for (const path of planeModels) {
    withModel(raw, file(path), {}, (model, x) => {
      moreAnswers(model, x);
      for (const one of [x.slice(0, 2), Float32Array.of(-0.86, 0.06)]) {
        ask(model, 'estimate', { ...plane, x: one, estimators: [...forms, ...budgets, 'quadrature:64'] });
        ask(model, 'estimate', { x: one, noise: scales, estimators: [...forms, 'mc:25', 'probit:24', 'mmse:25', 'softmax:1'] });
      }
    });
  }
  for (const kind of ['moons', 'blobs', 'spirals', 'xor', 'rings', 'digits']) {
    for (const milliseconds of [Infinity, 0]) finish(valueOf(raw.data({ kind, count: 30, seed: 1 })), milliseconds);
  }
  valueOf(raw.mvn({ z: [0.5], R: [1] }));
  valueOf(raw.mvn({ z: [1, 1.5, 0.5], R: [1, 0, 0, 0, 1, 0, 0, 0, 1] }));
  valueOf(raw.mvn({ z: [1, 1.5, 0.5], R: [1, 0.2, 0.1, 0.2, 1, 0.3, 0.1, 0.3, 1] }));
}

const curveAnswers = (model: RawModel, x: Float32Array): void => {
  ask(model, 'estimate', { x, noise: noise.slice(0, 2), estimators: ['auto', ...estimatorsIn.curves.map(numbered)] });
  const one = x.slice(0, x.length / 2);
  for (const estimator of ['mc:25', 'probit:24', 'taylor', 'regression:30']) {
    for (const smooth of [false, true]) ask(model, 'sweep', { x: one, sigmas: [0.1, 0.2, 0.3], estimator, smooth });
  }
};

/** Sweeps, and estimators that pool points. */
export function curves(raw: RawModule): void {
  withModel(raw, file('demos/digits/digits.onnx'), {}, curveAnswers);
  for (const path of planeModels) withModel(raw, file(path), {}, curveAnswers);
}

const onImages = (answers: typeof curveAnswers) => (raw: RawModule) => withModel(raw, residual(heads[0]!), {}, answers);
export const moreOnImages = onImages(moreAnswers);
export const curvesOnImages = onImages(curveAnswers);

/** Some of the remaining requests, to find functions that they share with other parts. */
export function rest(raw: RawModule): void {
  const forms = ['mc:50:stratified', 'mmse:20:loo', 'mmse:20:centered', 'probit:20:learned', 'probit:20:shared', 'subset:300'];
  withModel(raw, file('demos/digits/digits.onnx'), {}, (model, x) => {
    ask(model, 'estimate', { x, noise: ['gaussian:0.1'], estimators: forms });
    ask(model, 'slice', { x: x.slice(0, x.length / 2), reach: 1, resolution: 5 });
  });
}

export { partNames, placeholders } from '../src/parts.js';
