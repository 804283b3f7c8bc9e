// SPDX-License-Identifier: MIT
// Noise that is a function of the caller. The module gets its name and asks for the samples.
import { usage } from './errors.js';
import type { NoiseModel, Perturbation } from './noise-types.js';
import type { Forward } from './protocol.js';

const isPerturbation = (noise: unknown): noise is Perturbation =>
  typeof (noise as Perturbation | null | undefined)?.samples === 'function';

/**
 * Noise as texts for the module, and the functions that they name: `functions` has the number of normals of each, and `forward`
 * calls them, or else `model`.
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
