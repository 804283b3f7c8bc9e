// SPDX-License-Identifier: MIT
// Checks class names, and converts labels of points to class numbers.
import { list } from '../arguments.js';
import { usage } from '../errors.js';
import type { Labels, ModelInfo, PointOptions } from '../types.js';

/** A copy of the class names. Throws unless they are distinct texts. */
export function classNamesOf(where: string, given: unknown): string[] {
  if (!Array.isArray(given)) throw usage(`${where} is not a list`, "give names, such as ['cat', 'dog']");
  const odd = given.findIndex((name) => typeof name !== 'string' || name === '');
  if (odd >= 0) throw usage(`${where} is not a string at position ${odd}`, "give names, such as ['cat', 'dog']");
  const twice = given.findIndex((name, i) => given.indexOf(name) !== i);
  if (twice >= 0) throw usage(`${where} has '${String(given[twice])}' twice`, 'give each class a different name');
  return given as string[];
}

/** The class names of a model with this many classes. Throws if their number differs. */
export function classNamesFor(where: string, given: unknown, classes: number): string[] {
  const names = classNamesOf(where, given);
  if (names.length === classes) return [...names];
  throw usage(`${where} has ${names.length} names`, `give ${classes}, one for each class of the model`);
}

/** Labels as numbers; names are looked up among the class names. */
function labelNumbers(labels: Labels, names: readonly string[]): number[] {
  if (!Array.isArray(labels)) return list('labels', labels as Exclude<Labels, readonly unknown[]>)!;
  return labels.map((label: unknown, i) => {
    if (typeof label === 'number') return label;
    const at = typeof label === 'string' ? names.indexOf(label) : -1;
    if (at >= 0) return at;
    const known =
      names.length > 0 ? `use numbers, or ${names.slice(0, 5).join(', ')}` : 'give the model classNames, or use numbers';
    throw usage(`labels[${i}] is ${typeof label === 'string' ? `'${label}'` : String(label)}, which is not a class`, known);
  });
}

/** Targets and labels in the form that the module expects: lists of numbers, or a text that names the class. */
export interface ClassArguments {
  target: number[] | undefined;
  targetText: string | undefined;
  labels: number[] | undefined;
  classNames: readonly string[] | undefined;
}

export function classesOf(info: ModelInfo, { target, labels }: Pick<PointOptions, 'target' | 'labels'>): ClassArguments {
  const plain = typeof target === 'string' || typeof target === 'number';
  return {
    target: plain ? undefined : list('target', target),
    targetText: plain ? String(target) : undefined,
    labels: labels == null ? undefined : labelNumbers(labels, info.classNames ?? []),
    classNames: info.classNames,
  };
}
