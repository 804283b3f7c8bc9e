// SPDX-License-Identifier: MIT
// Reads and writes the sections of a WebAssembly module.

/** Reads numbers and texts from the bytes of a section. */
class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  take(count) {
    return this.bytes.subarray(this.at, (this.at += count));
  }

  number() {
    let value = 0;
    for (let scale = 1, more = true; more; scale *= 128) {
      const byte = this.bytes[this.at++];
      more = byte > 127;
      value += (byte & 127) * scale;
    }
    return value;
  }

  text() {
    return this.take(this.number()).toString();
  }
}

function number(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  return Buffer.from([...bytes, value]);
}

const text = (value) => Buffer.concat([number(Buffer.byteLength(value)), Buffer.from(value)]);

const header = 8; // bytes: a magic number and the version
const kinds = { custom: 0, import: 2 };

/** The module with changed sections: `change` returns the new content of a section, or undefined to remove it. */
function changed(bytes, change) {
  const reader = new Reader(bytes);
  const parts = [reader.take(header)];
  while (reader.at < bytes.length) {
    const kind = reader.take(1)[0];
    const content = change(kind, reader.take(reader.number()));
    if (content) parts.push(Buffer.from([kind]), number(content.length), content);
  }
  return Buffer.concat(parts);
}

/** The module without the names of its functions. */
export const withoutNames = (bytes) =>
  changed(bytes, (kind, content) => (kind === kinds.custom && new Reader(content).text() === 'name' ? undefined : content));

/** Reads the part of an import after its two names: the kind and the type. */
function description(reader) {
  const begin = reader.at;
  const kind = reader.take(1)[0];
  const limited = () => (reader.number() % 2 === 1 ? [reader.number(), reader.number()] : [reader.number()]);
  if (kind === 0) reader.number();
  else if (kind === 1) [reader.take(1), limited()];
  else if (kind === 2) limited();
  else reader.take(2);
  return { isFunction: kind === 0, bytes: reader.bytes.subarray(begin, reader.at) };
}

/** The module with renamed function imports: `name(module, name, type)` returns the new name; `type` is a text. */
export const withImports = (bytes, name) =>
  changed(bytes, (kind, content) => {
    if (kind !== kinds.import) return content;
    const reader = new Reader(content);
    const count = reader.number();
    const parts = [number(count)];
    for (let i = 0; i < count; ++i) {
      const [from, before] = [reader.text(), reader.text()];
      const { isFunction, bytes: type } = description(reader);
      parts.push(text(from), text(isFunction ? name(from, before, type.toString('hex')) : before), type);
    }
    return Buffer.concat(parts);
  });
