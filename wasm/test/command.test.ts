// SPDX-License-Identifier: MIT
// The package's command: it prints the table that README.md shows, writes the same rows as the native program, and reports each
// error on one line.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { brighter } from './models.js';
import { digits, native, root, staged } from './support.js';

const work = mkdtempSync(join(tmpdir(), 'probust-command-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));

const points = join(root, 'demos/digits/points.npz');
const [transform, even] = [join(work, 'brighter.onnx'), join(work, 'even.onnx')];
writeFileSync(transform, brighter());
writeFileSync(even, brighter('uniform(-0.3,0.3)'));

interface Finished {
  status: number | null;
  out: string;
  err: string;
}
function finished(program: string, words: readonly string[]): Finished {
  const { status, stdout, stderr } = spawnSync(program, words, { encoding: 'utf8', cwd: work });
  return { status, out: stdout, err: stderr };
}
const probust = (...words: string[]): Finished => finished(process.execPath, [join(staged, 'command.mjs'), ...words]);

/** The output that README.md shows for a command. */
function shown(command: string): string {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const begin = readme.indexOf(`$ probust ${command}`);
  return readme.slice(readme.indexOf('\n', begin) + 1, readme.indexOf('```', begin));
}

const numbers = (text: string): unknown[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

describe('the command', () => {
  it('prints the table of README.md', () => {
    const words = ['--sigma', '0.2', '--estimator', 'auto,taylor,mc:20000', '--limit', '3'];
    const { status, out, err } = probust('estimate', digits, points, ...words, '--format', 'table');
    expect(err + out).toBe(shown('estimate'));
    expect(status).toBe(0);
  });

  it.skipIf(!existsSync(native))('gives the rows of the native program', () => {
    for (const words of [
      ['estimate', digits, points, '--sigma', '0.1..0.4:3', '--estimator', 'mc:200,probit:40', '--limit', '5', '--seed', '3'],
      [
        'estimate',
        digits,
        points,
        '--noise',
        'uniform:0.3',
        '--top',
        '2',
        '--estimator',
        'mc:100',
        '--per-class',
        '--offset',
        '7',
      ],
      ['estimate', digits, points, '--sigma', '0.3', '--tolerance', '4', '--estimator', 'taylor', '--limit', '3'],
      ['estimate', digits, points, '--noise', `transform:${even}`, '--estimator', 'mc:200,quadrature:64', '--limit', '3'],
      [
        'estimate',
        digits,
        points,
        '--noise',
        `transform:${transform}:0.1`,
        '--estimator',
        'mc:200,quadrature:64',
        '--limit',
        '3',
      ],
    ]) {
      const own = probust(...words, '--format', 'jsonl', '--quiet');
      const other = finished(native, [...words, '--format', 'jsonl', '--quiet']);
      expect(own.status, own.err).toBe(other.status);
      const rows = numbers(own.out) as Record<string, unknown>[];
      const expected = numbers(other.out) as Record<string, unknown>[];
      expect(rows).toHaveLength(expected.length);
      for (const [i, row] of rows.entries()) {
        for (const [name, value] of Object.entries(expected[i]!)) {
          if (typeof value === 'number') expect(row[name], name).toBeCloseTo(value, 5);
          else if (!Array.isArray(value)) expect(row[name], name).toEqual(value);
        }
      }
    }
  });

  it('reads a model of x and z', () => {
    const words = ['--estimator', 'mc:500', '--limit', '4', '--format', 'jsonl', '--quiet'];
    const own = probust('estimate', digits, points, '--noise', `transform:${transform}:0.3`, ...words);
    const family = probust('estimate', digits, points, '--noise', 'brightness:0.3', ...words);
    expect(own.status, own.err).toBe(0);
    const chances = [own, family].map(({ out }) => (numbers(out) as { p: number }[]).map(({ p }) => p));
    chances[0]!.forEach((p, i) => expect(Math.abs(p - chances[1]![i]!)).toBeLessThan(5e-3));
  });

  it('checks and inspects', () => {
    const check = probust('check', digits, points, '--sigma', '0.2');
    expect(check.out).toContain('accuracy    95.0% as given (38 of 40)');
    expect(check.out).toContain('nothing suspicious');
    expect(check.out).toMatch(/ {2}Fashion-MNIST mean and std +--mean 0\.286 --std 0\.353$/m);
    const shifted = probust('check', digits, points, '--mean', '0.5', '--std', '0.05');
    expect(shifted.out).toMatch(/^options to add: none; leave out --mean, --std$/m);
    const inspected = probust('inspect', digits);
    expect(inspected.out).toMatch(/^ {2}decides {5}the largest of 10 values of 'logits'$/m);
    expect(JSON.parse(probust('inspect', digits, '--json').out)).toMatchObject({ classes: 10 });
  });

  it('writes files', () => {
    const output = join(work, 'rows.csv');
    expect(probust('estimate', digits, points, '--sigma', '0.2', '--limit', '2', '-o', output).status).toBe(0);
    expect(readFileSync(output, 'utf8')).toMatch(/^index,label,predicted,/);
  });

  it.each([
    [['estimate', digits, points], 2, 'noise is missing; give --sigma 0.1 or --noise uniform:0.1'],
    [['estimate', digits, points, '--sigma', 'x'], 2, "--sigma is 'x', which is not a number"],
    [['estimate', digits, points, '--noise', 'transform:none.onnx'], 3, 'none.onnx cannot be opened'],
    [['estimate', digits, points, '--noise', `transform:${digits}`], 2, 'has 1 inputs instead of x and z'],
    [['estimate', digits, points, '--sigmas', '1'], 2, "the command line cannot be parsed: Unknown option '--sigmas'"],
    [['estimate', digits], 2, 'DATA is missing; write probust estimate'],
    [['estimate', 'none.onnx', points, '--sigma', '1'], 3, 'none.onnx cannot be opened'],
    [['estimate', digits, 'none.npz', '--sigma', '1'], 3, 'none.npz cannot be opened'],
    [['estimate', points, points, '--sigma', '1'], 3, 'is not an ONNX model'],
    [['estimate', digits, points, '--sigma', '1', '--estimator', 'tayler'], 2, 'tayler'],
    [['estimate', digits, points, '--sigma', '1', '-o', 'run.sqlite'], 2, 'only the native program writes runs'],
    [['report', 'run.sqlite'], 2, "'report' is not a command"],
  ])('reports errors in one line: %s', (words, status, text) => {
    const { err, out, status: found } = probust(...words);
    expect(out).toBe('');
    expect(err).toMatch(/^probust: [^\n]+\n$/);
    expect(err).toContain(text);
    expect(found).toBe(status);
  });

  it('helps', () => {
    expect(probust('--help').out).toContain('estimate');
    expect(probust('estimate', '--help').out).toContain('--sigma');
  });
});
