// SPDX-License-Identifier: MIT
// Compares the logits that two engines compute at the same points.
import type { Verification } from './verify-types.js';

/** Always the same points, with elements uniform in [0, 1]: the Weyl sequence of the golden ratio. */
export const uniformPoints = (count: number, elements: number): Float32Array =>
  Float32Array.from({ length: count * elements }, (_, i) => ((i + 1) * 0.6180339887498949) % 1);

function argmax(logits: Float32Array): number {
  let best = 0;
  logits.forEach((logit, c) => {
    if (logit > logits[best]!) best = c;
  });
  return best;
}

const apart = (a: number, b: number): number => {
  if (Object.is(a, b) || a === b) return 0;
  const difference = Math.abs(a - b);
  return Number.isNaN(difference) ? Infinity : difference;
};

/** Compares logits [N, C] of two models. */
export function compared(own: Float32Array, other: Float32Array, classes: number): Verification {
  const points = own.length / classes;
  const worst: Verification['worst'] = [];
  const disagreements: number[] = [];
  for (let point = 0; point < points; ++point) {
    const [a, b] = [own, other].map((logits) => logits.subarray(point * classes, (point + 1) * classes)) as [
      Float32Array,
      Float32Array,
    ];
    const differences = Float64Array.from(a, (value, c) => apart(value, b[c]!));
    const at = differences.indexOf(Math.max(...differences));
    worst.push({ point, class: at, own: a[at]!, other: b[at]!, difference: differences[at]! });
    if (argmax(a) !== argmax(b)) disagreements.push(point);
  }
  worst.sort((a, b) => b.difference - a.difference);
  const scale = own.reduce((largest, logit) => Math.max(largest, Math.abs(logit)), 0);
  const largest = worst[0]?.difference ?? 0;
  return {
    points,
    largest,
    relative: largest === 0 ? 0 : largest / scale,
    worst: worst.slice(0, 5),
    argmaxAgrees: disagreements.length === 0,
    disagreements,
  };
}
