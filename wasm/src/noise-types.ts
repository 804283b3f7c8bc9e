// SPDX-License-Identifier: MIT

/** Points [count, d] for a function of the caller to perturb, with normals z [count, k]. */
export interface SampleRequest {
  count: number;
  values: Float32Array;
  z?: Float32Array;
}

/** A function that perturbs points, for `noise`. `perturbation` of `probust/function` creates it. */
export interface Perturbation {
  /** The name; in rows, the noise is called "transform:NAME". */
  readonly name: string;
  /** The number of normals for each sample. */
  readonly latents: number;
  readonly function: (x: Float32Array, z: Float32Array) => unknown;
  /** @internal */
  readonly samples: (request: SampleRequest, signal?: AbortSignal) => Promise<Float32Array>;
}

/** A noise model: a text such as "gaussian:0.1", or a function that perturbs points. */
export type NoiseModel = string | Perturbation;
