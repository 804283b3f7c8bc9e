// SPDX-License-Identifier: MIT

/** Points [count, d] that a function of the caller perturbs, with normals z [count, k]. */
export interface SampleRequest {
  count: number;
  values: Float32Array;
  z?: Float32Array;
}

/** A function that perturbs points, for `noise`; the result of `perturbation` (`probust/function`). */
export interface Perturbation {
  /** In rows: "transform:NAME". */
  readonly name: string;
  /** The number of normals of a sample. */
  readonly latents: number;
  readonly function: (x: Float32Array, z: Float32Array) => unknown;
  /** @internal */
  readonly samples: (request: SampleRequest, signal?: AbortSignal) => Promise<Float32Array>;
}

/** Noise as text, such as "gaussian:0.1", or a function. */
export type NoiseModel = string | Perturbation;
