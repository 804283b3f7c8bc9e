// SPDX-License-Identifier: MIT
// The options of the commands, with the names and meanings that they have in the native program.
import { parseArgs } from 'node:util';
import { usage } from '../src/errors.js';

type Kind = 'text' | 'texts' | 'number' | 'whole' | 'numbers' | 'extents' | 'flag';
interface Described {
  kind: Kind;
  what: string;
  short?: string;
}
const option = (kind: Kind, what: string, short?: string): Described => ({ kind, what, ...(short !== undefined && { short }) });

const model = {
  'output-name': option('text', 'output or inner tensor that determines the class (default: the only suitable one)'),
  'input-shape': option('extents', 'shape of one example, e.g. 1,3,224,224, if neither the model nor the data determine it'),
  threshold: option(
    'number',
    'for models with one output number: class 1 if it is above this (default: 0 for scores, 0.5 for probabilities)',
  ),
  outputs: option('extents', 'the values of the output to use as classes, such as 0,1 or 0..9 (default: all)'),
};
const data = {
  labels: option('text', 'read labels from this file'),
  classes: option('text', "class names in the model's order, one per line: text labels are matched with them"),
  'label-column': option('text', 'label column of a .csv: an index, a name, last or none (default: last)'),
  scale: option('number', 'factor for stored values (default 1/255 for bytes, 1 otherwise)'),
  mean: option('numbers', 'subtracted after --scale: one per channel, or one for all'),
  std: option('numbers', 'divided by after --mean: one per channel, or one for all'),
  layout: option('text', "order of the axes of the model's input: auto, nchw, nhwc or whcn"),
  limit: option('whole', 'at most this many points'),
  offset: option('whole', 'skip this many points'),
};
const noise = {
  sigma: option('texts', "noise scales in the data's units: 0.1,0.2, or 0.01..1:20 for 20 in geometric progression"),
  noise: option('texts', 'noise models, such as laplace:0.1 or gaussian:cov=FILE.npy; may be repeated'),
};
const question = {
  estimator: option('texts', 'estimators (default: auto)'),
  clip: option('text', 'clip noisy samples to this range: 0,1, or columns to ranges: 0,1@0..3+0,9@4'),
  levels: option('whole', 'round noisy samples to this many evenly spaced values in the --clip range'),
  budget: option('number', 'for auto: forward passes per point'),
  'total-budget': option('number', 'for auto: forward passes for all points and noise models together'),
  target: option('text', 'the class that has to survive: predicted, label, a number or a name'),
  groups: option('text', 'groups of classes, separated by /; the classes of a group (numbers or names) count as one: 0,1/2,3,4'),
  'per-class': option('flag', 'also the probability that each class wins'),
  top: option('whole', 'the class has to remain among the K largest logits (mc and auto only)'),
  tolerance: option(
    'numbers',
    'for regression models: the probability that no output changes by this much or more; one, or one per output',
  ),
  smooth: option('flag', 'fit a smooth curve to each sweep over three or more noise scales'),
  share: option('text', 'what points share: none, pooled, learned or draws'),
  independent: option('flag', 'the same as --share none, only for auto'),
  calibrate: option('flag', 'correct the bias of probit, regression and auto, as measured by the noisy samples of all points'),
  seed: option('whole', 'seed of the noise (default: 0)'),
  'no-check': option('flag', 'skip the check of data, preprocessing and labels'),
};
const running = {
  threads: option('whole', 'worker threads (default: one per core)'),
  quiet: option('flag', 'do not print accuracy and notes on stderr'),
};

export const commands = {
  check: {
    what: 'check that data, preprocessing, layout and labels match the model',
    words: ['MODEL', 'DATA'],
    options: { ...model, ...data, sigma: noise.sigma, ...running, json: option('flag', 'one JSON object') },
  },
  estimate: {
    what: 'estimate the probability that the prediction survives noise, for every point',
    words: ['MODEL', 'DATA'],
    options: {
      ...{ ...model, ...data, ...noise, ...question, ...running },
      output: option('text', 'write rows to this .csv or .jsonl file', 'o'),
      format: option('text', 'table, csv or jsonl (default: table on a terminal, jsonl otherwise)'),
    },
  },
  inspect: {
    what: 'show inputs, outputs, operators and what the model supports',
    words: ['MODEL'],
    options: { ...model, json: option('flag', 'one JSON object') },
  },
} as const;
export type Command = keyof typeof commands;

/** The words and options given to a command, with numbers parsed. */
export class Given {
  constructor(
    readonly words: readonly string[],
    private readonly values: Readonly<Record<string, unknown>>,
  ) {}

  text = (name: string): string | undefined => this.values[name] as string | undefined;
  texts = (name: string): string[] => (this.values[name] as string[] | undefined) ?? [];
  number = (name: string): number | undefined => this.values[name] as number | undefined;
  numbers = (name: string): number[] | undefined => this.values[name] as number[] | undefined;
  flag = (name: string): boolean => this.values[name] === true;
}

function number(text: string, flag: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw usage(`--${flag} is '${text}', which is not a number`);
  return value;
}

function whole(text: string, flag: string): number {
  if (!/^\d+$/.test(text)) throw usage(`--${flag} is '${text}', which is not a whole number of at least 0`);
  return Number(text);
}

/** Parses whole numbers and ranges: "0..3,7" becomes 0, 1, 2, 3, 7. */
function wholes(text: string, flag: string): number[] {
  return text.split(',').flatMap((part) => {
    const [first, last] = part.split('..').map((each) => whole(each, flag));
    return last === undefined ? [first!] : Array.from({ length: last - first! + 1 }, (_, i) => first! + i);
  });
}

/**
 * Parses noise scales: "0.1,0.2", or "0.01..1:20", that is, 20 scales in geometric progression, rounded to six digits. Returns
 * one text per scale.
 */
export function scales(text: string): string[] {
  return text.split(',').flatMap((part) => {
    const range = /^(.+)\.\.(.+):(\d+)$/.exec(part);
    if (!range) return [String(number(part, 'sigma'))];
    const [low, high] = [number(range[1]!, 'sigma'), number(range[2]!, 'sigma')];
    const count = Number(range[3]);
    if (!(low > 0) || !(high > low) || count < 2) throw usage(`--sigma is '${part}', which is not a range`, 'try 0.01..1:20');
    const at = (i: number) => low * (high / low) ** (i / (count - 1));
    return Array.from({ length: count }, (_, i) => String(Number(at(i).toPrecision(6))));
  });
}

const parsed: Record<Kind, (value: never, flag: string) => unknown> = {
  text: (value: string) => value,
  texts: (value: string[]) => value,
  number: (value: string, flag) => number(value, flag),
  whole: (value: string, flag) => whole(value, flag),
  numbers: (value: string, flag) => value.split(',').map((each) => number(each, flag)),
  extents: (value: string, flag) => wholes(value, flag),
  flag: (value: boolean) => value,
};

/** Parses the words after the name of a command. Throws ProbustError `usage` if one of them is invalid. */
export function parse(command: Command, words: readonly string[]): Given {
  const known: Readonly<Record<string, Described>> = commands[command].options;
  const config = Object.fromEntries(
    Object.entries(known).map(([name, { kind, short }]) => [
      name,
      { type: kind === 'flag' ? ('boolean' as const) : ('string' as const), multiple: kind === 'texts', ...(short && { short }) },
    ]),
  );
  let given: { values: Record<string, unknown>; positionals: string[] };
  try {
    given = parseArgs({ args: [...words], options: config, allowPositionals: true, strict: true });
  } catch (error) {
    throw usage(`the command line cannot be parsed: ${(error as Error).message}`, `see probust ${command} --help`);
  }
  const wanted = commands[command].words;
  if (given.positionals.length !== wanted.length) {
    const problem =
      given.positionals.length < wanted.length
        ? `${wanted[given.positionals.length]} is missing`
        : 'the command line has too many words';
    throw usage(problem, `write probust ${command} ${wanted.join(' ')} [OPTIONS]`);
  }
  const values = Object.entries(given.values).map(([name, value]) => [name, parsed[known[name]!.kind](value as never, name)]);
  return new Given(given.positionals, Object.fromEntries(values) as Record<string, unknown>);
}

export function help(command?: Command): string {
  if (command === undefined) {
    const lines = Object.entries(commands).map(([name, { what }]) => `  ${name.padEnd(10)} ${what}`);
    return `probust COMMAND [OPTIONS]: the probability that a classifier's prediction survives noise\n\n${lines.join('\n')}\n
The native program has more commands; what they share has the same options and gives the same rows.`;
  }
  const { what, words, options } = commands[command];
  const lines = Object.entries(options as Record<string, Described>).map(
    ([name, each]) => `  ${`${each.short ? `-${each.short},` : ''}--${name}`.padEnd(16)} ${each.what}`,
  );
  return `probust ${command} ${words.join(' ')} [OPTIONS]: ${what}\n\n${lines.join('\n')}`;
}
