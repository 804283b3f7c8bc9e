#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// `npx probust`: check, estimate and inspect on any system with node, with the options of the native program.
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { createProbust, type Model, type Probust, type ProbustError, type Row } from '../src/index.js';
import type { CheckReport, EstimateOptions, ModelOptions } from '../src/index.js';
import { writeRows } from '../src/data.js';
import { usage } from '../src/errors.js';
import { arraysIn, fileNamed, pointsOf, transformsIn } from './files.js';
import { commands, help, parse, scales, type Command, type Given } from './options.js';
import { table } from './table.js';

const statuses: Partial<Record<string, number>> = {
  usage: 2,
  unreadable: 3,
  unsupported: 4,
  resources: 5,
  numerical: 6,
  aborted: 130,
};

const say = (text: string): void => void process.stderr.write(`${text}\n`);
const print = (text: string): void => void process.stdout.write(text);

const cores = (): number => (typeof availableParallelism === 'function' ? availableParallelism() : cpus().length);

function load(probust: Probust, given: Given, shape?: readonly number[]): Promise<Model> {
  const options = {
    output: given.text('output-name'),
    inputShape: given.numbers('input-shape'),
    threshold: given.number('threshold'),
    outputs: given.numbers('outputs'),
    mean: given.numbers('mean'),
    std: given.numbers('std'),
    layout: given.text('layout'),
    tolerance: given.numbers('tolerance'),
    shape,
  };
  return probust.loadModel(fileNamed(given.words[0]!, 'give an ONNX file'), options as ModelOptions);
}

function noisesOf(given: Given): string[] {
  const noises = [
    ...given.texts('sigma').flatMap((text) => scales(text).map((sigma) => `gaussian:${sigma}`)),
    ...given.texts('noise'),
  ];
  if (noises.length === 0) throw usage('noise is missing', 'give --sigma 0.1 or --noise uniform:0.1');
  return noises;
}

async function questionOf(given: Given): Promise<EstimateOptions> {
  const noise = noisesOf(given);
  const target = given.text('target');
  const estimators = given.texts('estimator').flatMap((text) => text.split(','));
  return {
    noise,
    arrays: await arraysIn(noise),
    transforms: transformsIn(noise),
    estimators: estimators.length > 0 ? estimators : 'auto',
    clip: given.text('clip'),
    target: target !== undefined && /^\d+$/.test(target) ? Number(target) : target,
    levels: given.number('levels'),
    budget: given.number('budget'),
    totalBudget: given.number('total-budget'),
    groups: given.text('groups'),
    top: given.number('top'),
    share: given.text('share'),
    seed: given.number('seed'),
    perClass: given.flag('per-class'),
    smooth: given.flag('smooth'),
    independent: given.flag('independent'),
    calibrate: given.flag('calibrate'),
    check: !given.flag('no-check'),
  } as EstimateOptions;
}

function formatOf(given: Given): 'table' | 'csv' | 'jsonl' {
  const output = given.text('output');
  const format =
    given.text('format') ?? (output === undefined ? (process.stdout.isTTY ? 'table' : 'jsonl') : output.split('.').at(-1)!);
  if (format === 'table' || format === 'csv' || format === 'jsonl') return format;
  if (given.text('format') === undefined)
    throw usage(
      `--output is '${output}', which ends in neither .csv nor .jsonl`,
      'use one of these; only the native program writes runs',
    );
  throw usage(`--format cannot be '${format}'`, 'use table, csv or jsonl');
}

function sayAccuracy(rows: readonly Row[]): void {
  const points = new Map(rows.filter(({ label }) => label !== null).map((row) => [row.index, row.label === row.predicted]));
  const correct = [...points.values()].filter(Boolean).length;
  if (points.size > 0) say(`clean accuracy ${((100 * correct) / points.size).toFixed(2)}% (${correct} of ${points.size})`);
}

async function estimate(probust: Probust, given: Given): Promise<void> {
  const format = formatOf(given);
  const question = await questionOf(given);
  const points = await pointsOf(given.words[1]!, given);
  const model = await load(probust, given, points.pointShape);
  const quiet = given.flag('quiet');
  if (!quiet) for (const note of points.notes ?? []) say(`probust: ${note}`);
  const rows = await model.estimate(points.x, {
    ...question,
    ...(points.labels && given.numbers('tolerance') === undefined && { labels: points.labels }),
    index: points.index,
    onWarning: (warning) => say(`probust: warning: ${warning}`),
  });
  if (!quiet) {
    say(`decision rule: ${model.info.decision}`);
    sayAccuracy(rows);
  }
  const text = format === 'table' ? table(rows, points.classNames ?? model.info.classNames) : writeRows(rows, format);
  const output = given.text('output');
  if (output === undefined) print(text);
  else writeFileSync(output, text);
}

async function check(probust: Probust, given: Given): Promise<void> {
  const points = await pointsOf(given.words[1]!, given);
  const model = await load(probust, given, points.pointShape);
  const sigma = given.texts('sigma').flatMap((text) => scales(text).map(Number));
  const { words, ...report } = await model.check(points.x, { ...(points.labels && { labels: points.labels }), sigma });
  if (given.flag('json')) return print(`${JSON.stringify(report, null, 2)}\n`);
  print(withFlags(words, report));
}

/** The text of a report, in which flags replace the JavaScript names of options, at the ends of lines and after "leave out". */
function withFlags(words: string, { options, alternatives }: Pick<CheckReport, 'options' | 'alternatives'>): string {
  const camel = (field: string): string => field.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const flag = (field: string): string => `--${field.replaceAll('_', '-')}`;
  let lines = words.split('\n');
  for (const { add, leave_out } of [options, ...alternatives.map((each) => each.options)]) {
    const [theirs, ours] = [camel, flag].map((name) => {
      const left = leave_out.map(name).join(', ');
      const added = Object.entries(add).map(([field, value]) => `${name(field)} ${value}`);
      const text = [added.join(' '), left && `without ${left}`].filter(Boolean).join(', ');
      return { left, text };
    }) as [{ left: string; text: string }, { left: string; text: string }];
    if (theirs.text === '') continue;
    lines = lines
      .map((line) => (line.endsWith(` ${theirs.text}`) ? line.slice(0, -theirs.text.length) + ours.text : line))
      .map((line) => (theirs.left ? line.replace(`leave out ${theirs.left}`, `leave out ${ours.left}`) : line));
  }
  return lines.join('\n');
}

const shapeText = (shape: readonly number[]): string => `[${shape.map((extent) => (extent < 0 ? '?' : extent)).join(', ')}]`;

function withUnit(count: number): string {
  for (const [size, unit] of [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const) {
    if (count >= size) return `${Number((count / size).toPrecision(3))} ${unit}`;
  }
  return String(Math.round(count));
}

async function inspect(probust: Probust, given: Given): Promise<void> {
  const { info } = await load(probust, given);
  if (given.flag('json')) return print(`${JSON.stringify(info, null, 2)}\n`);
  const yes = (flag: boolean): string => (flag ? 'yes' : 'no');
  const lines = [
    given.words[0]!,
    `  made by     ${info.producer || 'an unnamed tool'}, opset ${info.opset}`,
    ...info.inputs.map(({ name, type, shape }) => `  input       ${name} ${type} ${shapeText(shape)}`),
    ...info.outputs.map(({ name, type, shape }) => `  output      ${name} ${type} ${shapeText(shape)}`),
    `  parameters  ${info.parameters}`,
    `  FLOPs       ${withUnit(info.flops)} per example`,
    `  decides     ${info.decision}`,
    `  logits      ${info.logits}, ${info.classes} classes`,
    ...info.notes.map((note) => `  note        ${note}`),
    '',
    `  ${'operator'.padEnd(28)} ${'nodes'.padStart(6)}  ${'runs'.padEnd(5)} differentiable`,
    ...info.operators.map(({ opType, domain, count, runs, differentiable }) => {
      const name = (domain === '' ? '' : `${domain}.`) + opType;
      return `  ${name.padEnd(28)} ${String(count).padStart(6)}  ${yes(runs).padEnd(5)} ${yes(differentiable)}`;
    }),
  ];
  print(`${lines.join('\n')}\n`);
}

const bodies = { check, estimate, inspect };

async function run(words: readonly string[]): Promise<void> {
  const [name, ...rest] = words;
  if (name === undefined || name === '--help' || name === '-h') return print(`${help()}\n`);
  if (!Object.hasOwn(commands, name)) {
    throw usage(`'${name}' is not a command`, `use ${Object.keys(commands).join(', ')}, or the native program`);
  }
  const command = name as Command;
  if (rest.includes('--help') || rest.includes('-h')) return print(`${help(command)}\n`);
  const given = parse(command, rest);
  const threads = given.number('threads') ?? cores();
  const probust = await createProbust(command === 'estimate' && threads > 1 ? { threads } : {});
  try {
    await bodies[command](probust, given);
  } finally {
    probust.dispose();
  }
}

// Compares names: this bundle has its own copy of the class, so instanceof would not recognise errors of the package.
const isOurs = (error: unknown): error is ProbustError => error instanceof Error && error.name === 'ProbustError';

run(process.argv.slice(2)).catch((error: unknown) => {
  say(`probust: ${isOurs(error) ? error.message : String(error)}`);
  process.exitCode = (isOurs(error) && statuses[error.code]) || 1;
});
