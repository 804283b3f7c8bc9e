// SPDX-License-Identifier: MIT
// The subset of the protobuf wire format that is needed to edit models. A message is a list of fields, most of which do not
// change.

export interface Field {
  number: number;
  /** The wire type: 0 is a varint, 1 eight bytes, 2 a length followed by bytes, 5 four bytes. */
  wire: number;
  value: bigint | Uint8Array;
}

const truncated = () => new RangeError('the message ends too early');

export function parse(bytes: Uint8Array): Field[] {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 63n) throw truncated();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, value);
    }
  };
  const take = (count: number): Uint8Array => {
    if (count < 0 || at + count > bytes.length) throw truncated();
    at += count;
    return bytes.subarray(at - count, at);
  };
  const fields: Field[] = [];
  while (at < bytes.length) {
    const key = Number(varint());
    const wire = key & 7;
    if (wire === 0) fields.push({ number: key >> 3, wire, value: varint() });
    else if (wire === 2) fields.push({ number: key >> 3, wire, value: take(Number(varint())) });
    else if (wire === 1 || wire === 5) fields.push({ number: key >> 3, wire, value: take(wire === 1 ? 8 : 4) });
    else throw new RangeError(`there is no wire type ${wire}`);
  }
  return fields;
}

function varintBytes(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
}

export function encode(fields: readonly Field[]): Uint8Array {
  const parts: ArrayLike<number>[] = [];
  for (const { number, wire, value } of fields) {
    parts.push(varintBytes(BigInt((number << 3) | wire)));
    if (typeof value === 'bigint') parts.push(varintBytes(value));
    else if (wire === 2) parts.push(varintBytes(BigInt(value.length)), value);
    else parts.push(value);
  }
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** The fields, with `edit` applied to the message of every field with this number. */
export const edited = (fields: readonly Field[], number: number, edit: (message: Field[]) => Field[]): Field[] =>
  fields.map((field) => (field.number === number ? message(number, edit(parse(field.value as Uint8Array))) : field));

export const message = (number: number, fields: readonly Field[]): Field => ({ number, wire: 2, value: encode(fields) });
export const text = (number: number, value: string): Field => ({ number, wire: 2, value: new TextEncoder().encode(value) });
export const integer = (number: number, value: number | bigint): Field => ({ number, wire: 0, value: BigInt(value) });

const decoder = new TextDecoder();
export const all = (fields: readonly Field[], number: number): Uint8Array[] =>
  fields.filter((field) => field.number === number && field.wire === 2).map(({ value }) => value as Uint8Array);
export const texts = (fields: readonly Field[], number: number): string[] =>
  all(fields, number).map((bytes) => decoder.decode(bytes));
export const messageIn = (fields: readonly Field[], number: number): Field[] => parse(all(fields, number)[0] ?? new Uint8Array());
export const integerIn = (fields: readonly Field[], number: number): bigint | undefined =>
  fields.find((field) => field.number === number && field.wire === 0)?.value as bigint | undefined;
