// SPDX-License-Identifier: MIT
// EXIF data of JPEG and PNG files. Browsers rotate images as these data say, but the command line does not, so they are removed
// before a browser decodes the image.

/** A range of bytes in a file. */
type Range = [begin: number, end: number];

const textAt = (view: DataView, at: number, length: number): string =>
  Array.from({ length }, (_, i) => (at + i < view.byteLength ? String.fromCharCode(view.getUint8(at + i)) : '')).join('');

/** The EXIF segments of a JPEG file, which precede the coded data (ITU T.81, B.1). */
function* inJpeg(view: DataView): Generator<Range> {
  const [scan, exif] = [0xda, 0xe1];
  for (let at = 2; at + 4 <= view.byteLength && view.getUint8(at) === 0xff;) {
    const marker = view.getUint8(at + 1);
    if (marker === scan) return;
    const fills = marker === 0xff; // a fill byte before a marker
    const end = fills ? at + 1 : at + 2 + view.getUint16(at + 2);
    if (marker === exif && textAt(view, at + 4, 6) === 'Exif\0\0') yield [at, end];
    at = end;
  }
}

/** The EXIF chunks of a PNG file. A chunk has a length, a type, the contents and a checksum (PNG, 5.3). */
function* inPng(view: DataView): Generator<Range> {
  for (let at = 8; at + 8 <= view.byteLength;) {
    const end = at + 12 + view.getUint32(at);
    if (textAt(view, at + 4, 4) === 'eXIf') yield [at, end];
    at = end;
  }
}

/** The orientation in a TIFF header (CIPA DC-008, 4.6); 1 (upright) if there is none. */
function orientationIn(view: DataView, tiff: number, end: number): number {
  const [tag, header, field] = [0x0112, 8, 12];
  const little = textAt(view, tiff, 2) === 'II';
  if (tiff + header > end) return 1;
  const first = tiff + view.getUint32(tiff + 4, little) + 2;
  if (first > end) return 1;
  const after = Math.min(end, first + field * view.getUint16(first - 2, little));
  for (let at = first; at + field <= after; at += field) {
    if (view.getUint16(at, little) === tag) return view.getUint16(at + 8, little);
  }
  return 1;
}

/**
 * The parts of the file before, between and after EXIF data. `turned`: whether the EXIF data ask for the image to be rotated or
 * mirrored.
 */
export function withoutExif(bytes: Uint8Array): { parts: Uint8Array[]; turned: boolean } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const begin = textAt(view, 0, 4);
  const png = begin === '\x89PNG';
  const parts: Uint8Array[] = [];
  let from = 0;
  let turned = false;
  for (const [at, end] of png ? inPng(view) : begin.startsWith('\xff\xd8') ? inJpeg(view) : []) {
    parts.push(bytes.subarray(from, at));
    from = end;
    turned ||= orientationIn(view, at + (png ? 8 : 10), Math.min(end, bytes.length)) !== 1;
  }
  return { parts: [...parts, bytes.subarray(from)], turned };
}

/** Whether a PNG image has 16 bits per value (PNG, 11.2.1). */
export const isDeepPng = (bytes: Uint8Array): boolean => bytes[1] === 0x50 && bytes[0] === 0x89 && bytes[24] === 16;
