// SPDX-License-Identifier: MIT
// Writes values to a URL and reads them. URLs may have been edited by hand, so invalid values are read as undefined.

export interface Codec<T> {
  write(value: T): string;
  read(text: string): T | undefined;
}

interface Range {
  digits: number;
  low: number;
  high: number;
  /** The required number of values. */
  length?: number;
}

const written = (value: number, digits: number) => String(Number(value.toFixed(digits)));

function readNumber(text: string, { low, high }: Range): number | undefined {
  const value = Number(text);
  return text.trim() !== '' && value >= low && value <= high ? value : undefined;
}

export const number = (range: Range): Codec<number> => ({
  write: (value) => written(value, range.digits),
  read: (text) => readNumber(text, range),
});

export const numbers = (range: Range): Codec<number[]> => ({
  write: (values) => values.map((value) => written(value, range.digits)).join(','),
  read(text) {
    const values = text === '' ? [] : text.split(',').map((each) => readNumber(each, range));
    const wrong = values.includes(undefined) || (range.length !== undefined && values.length !== range.length);
    return wrong ? undefined : (values as number[]);
  },
});

export const text: Codec<string> = { write: (value) => value, read: (value) => value };

export const bool: Codec<boolean> = { write: (value) => (value ? '1' : '0'), read: (value) => value === '1' };

export const list: Codec<string[]> = {
  write: (values) => values.join(','),
  read: (value) => value.split(',').filter((each) => each !== ''),
};

export const choice = <T extends string>(values: readonly T[]): Codec<T> => ({
  write: (value) => value,
  read: (value) => values.find((each) => each === value),
});
