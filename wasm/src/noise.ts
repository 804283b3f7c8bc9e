// SPDX-License-Identifier: MIT
// Noise that a function of the caller computes. The module knows only the name of the function, and requests the samples.
import { usage } from './errors.js';
import type { NoiseModel, Perturbation } from './noise-types.js';
import type { Forward } from './protocol.js';

const isPerturbation = (noise: unknown): noise is Perturbation =>
  typeof (noise as Perturbation | null | undefined)?.samples === 'function';

/**
 * Converts noise to texts for the module. `functions` contains the number of normals of each function that the texts name. `forward`
 * calls these functions for noisy samples, and `model` for all other requests.
 */
export function noiseOf(given: NoiseModel | readonly NoiseModel[], model: Forward | undefined) {
  const own = new Map<string, Perturbation>();
  const textOf = (noise: NoiseModel): string => {
    if (typeof noise === 'function') {
      throw usage(
        'noise is a function, and its number of normals is unknown',
        'give perturbation(function, 1) of probust/function',
      );
    }
    if (!isPerturbation(noise)) return noise;
    const { name, latents, function: called } = noise;
    const other = own.get(name) ?? noise;
    if (other.function !== called || other.latents !== latents)
      throw usage(`noise has two functions with the name '${name}'`, 'give each its own name');
    own.set(name, noise);
    return `transform:${name}`;
  };
  const single = typeof given === 'string' || typeof given === 'function' || isPerturbation(given);
  const noise = single ? [textOf(given)] : Array.isArray(given) ? given.map(textOf) : (given as string[]);
  if (own.size === 0) return { args: { noise }, forward: model };
  const functions = Object.fromEntries([...own].map(([name, { latents }]) => [name, latents]));
  const forward: Forward = (wants, signal) => (own.get(wants.noise!)?.samples ?? model!)(wants, signal);
  return { args: { noise, functions }, forward };
}
