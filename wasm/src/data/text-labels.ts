// SPDX-License-Identifier: MIT
// Converts labels to class numbers. Numbers do not change, unless the labels are -1 and 1. Texts are matched with the class
// names, if these are known; otherwise, they are numbered in sorted order, so that files with the same classes agree. Results and
// errors are the same as on the command line (native/datasets/labels.cpp).
import { refuse } from '../arrays.js';
import { csvInteger, shown } from './csv-rows.js';

/** Labels as stored in a file: numbers or texts. */
export interface StoredLabels {
  numbers?: number[];
  texts?: string[];
}

export interface ClassLabels {
  labels: number[];
  classNames: string[] | undefined;
}

/** The distinct texts in the order of their UTF-8 bytes. */
function sorted(texts: Iterable<string>): string[] {
  const points = (text: string) => Array.from(text, (c) => c.codePointAt(0)!);
  return [...new Set(texts)].sort((a, b) => {
    const [p, q] = [points(a), points(b)];
    const at = p.findIndex((c, i) => c !== q[i]);
    return at < 0 ? p.length - q.length : p[at]! - (q[at] ?? -1);
  });
}

const folded = (text: string): string => text.trim().toLowerCase();

/** The number of edits that turn one text into another (Levenshtein). */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 0; i < a.length; ++i) {
    const next = [i + 1];
    for (let j = 0; j < b.length; ++j) {
      next.push(Math.min(row[j]! + (a[i] === b[j] ? 0 : 1), row[j + 1]! + 1, next[j]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

/** A function that finds the classes with a given name. It compares texts exactly, then ignoring case, and numbers by value. */
function finder(classes: readonly string[]): (text: string) => number[] {
  const numeric = classes.every((each) => csvInteger(each.trim()) !== undefined);
  const keyOf = (text: string) => {
    const number = numeric ? csvInteger(text.trim()) : undefined;
    return number === undefined ? folded(text) : String(number);
  };
  const listed = (keys: string[]) => {
    const found = new Map<string, number[]>();
    keys.forEach((key, i) => found.set(key, [...(found.get(key) ?? []), i]));
    return found;
  };
  const exact = listed(classes.map((each) => each.trim()));
  const similar = listed(classes.map(keyOf));
  return (text) => exact.get(text.trim()) ?? similar.get(keyOf(text)) ?? [];
}

/** The class of each text. Throws an error if a text is not the name of a class. */
function matched(texts: readonly string[], classes: readonly string[], name: string): number[] {
  const find = finder(classes);
  const classOf = (text: string): number => {
    const [found, another] = find(text);
    const label = `has the label ${shown(text)},`;
    if (found === undefined) {
      const nearer = (a: string, b: string) => edits(folded(text), folded(a)) - edits(folded(text), folded(b));
      const nearest = shown([...classes].sort(nearer)[0]!);
      return refuse(name, `${label} which is not a class name of classes`, `the nearest name is ${nearest}`);
    }
    if (another === undefined) return found;
    const both = `and classes ${found} and ${another} of classes both have this name`;
    return refuse(name, `${label} ${both}`, 'give each class its own name with classes');
  };
  const numbers = new Map([...new Set(texts)].map((text) => [text, classOf(text)]));
  return texts.map((text) => numbers.get(text)!);
}

/** Whether the labels are -1 and 1, as used for support vector machines. Such labels are not class numbers. */
const areSigns = (labels: readonly number[]): boolean =>
  labels.every((label) => Math.abs(label) === 1) && new Set(labels).size === 2;

/** The classes of texts that are unambiguous prefixes of class names, such as b and g for bad and good. */
function byBeginning(texts: readonly string[], classes: readonly string[]): number[] | undefined {
  const names = classes.map(folded);
  const found = new Map<string, number>();
  for (const text of new Set(texts)) {
    const begun = names.flatMap((each, i) => (each.startsWith(folded(text)) ? [i] : []));
    if (text === '' || begun.length !== 1 || names[begun[0]!] === folded(text)) return undefined;
    found.set(text, begun[0]!);
  }
  const different = new Set(found.values()).size === found.size && found.size > 1;
  return different ? texts.map((text) => found.get(text)!) : undefined;
}

/** The class numbers of stored labels. `classes` are the names in the order of the model's classes, if they are known. */
export function classLabels({ numbers, texts }: StoredLabels, classes: readonly string[] | undefined, name: string): ClassLabels {
  const classNames = classes && [...classes];
  const whole = numbers ?? texts!.map(csvInteger);
  if (whole.every((label) => label !== undefined)) {
    const named = classes?.length && classes.every((each) => csvInteger(each.trim()) !== undefined);
    if (named) return { labels: matched(whole.map(String), classes, name), classNames };
    return { labels: areSigns(whole) ? whole.map((label) => (label > 0 ? 1 : 0)) : whole, classNames };
  }
  const names = classNames ?? sorted(texts!);
  const begun = classNames && byBeginning(texts!, classNames);
  return { labels: begun ?? matched(texts!, names, name), classNames: names };
}
