// SPDX-License-Identifier: MIT
// Small ONNX models that several tests use.
import { onnx, port } from '../split/onnx.js';

/** A perturbation of the demo's digits: x + z, with one z for all pixels. `distribution` becomes the property probust.z. */
export const brighter = (distribution?: string): Uint8Array =>
  onnx({
    inputs: [port('x', ['N', 1, 16, 16]), port('z', ['N', 1, 1, 1])],
    outputs: [port('y', ['N', 1, 16, 16])],
    constants: [],
    nodes: [{ op: 'Add', inputs: ['x', 'z'], output: 'y' }],
    ...(distribution !== undefined && { properties: { 'probust.z': distribution } }),
  });
