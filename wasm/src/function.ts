// SPDX-License-Identifier: MIT
// `probust/function`: classifiers and noise that are JavaScript functions, such as a remote service or a model of another library.
// Counting and statistics remain in probust, which requests the scores of noisy inputs, or the noisy samples.
import { unlessAborted, withController } from './abort.js';
import type { Probust } from './api.js';
import { batchOf, list, optionsOf, type Names } from './arguments.js';
import { aborted, callback, disposed, usage } from './errors.js';
import { classNamesOf } from './data/labels.js';
import type { ExternalEngine, Model } from './model.js';
import type { Perturbation, SampleRequest } from './noise-types.js';
import type { Wants } from './protocol.js';
import { elementCount } from './shape.js';
import type { ModelOptions, Numbers } from './types.js';

/** A row of numbers for each point of a batch: a flat list, one row after another, or a list of rows. */
export type Rows = Numbers | readonly (readonly number[] | Float32Array | Float64Array)[];

/** Information about a batch for the classifier. */
export interface BatchRequest {
  /** n, the number of points; n is at most `batch`. */
  count: number;
  /** [n, ...shape]. */
  shape: number[];
  /** Aborted when the call is aborted or the model is disposed; pass it to `fetch`. */
  signal: AbortSignal;
}

/** A classifier: a function from points to scores, with its properties. */
export interface FunctionClassifier extends Pick<ModelOptions, 'mean' | 'std' | 'memory' | 'signal'> {
  /** C, the number of classes, or the names of the C classes. */
  classes: number | readonly string[];
  /** The shape of one point, such as [3, 32, 32]. */
  shape: Numbers;
  /**
   * Scores [n, C] of the points x [n, ...shape], directly or as a promise. The class with the largest score wins. For estimators other
   * than `mc`, scores must be logits: unbounded, and not converted to probabilities. NaN counts as no class.
   */
  classify(x: Float32Array, request: BatchRequest): Rows | Promise<Rows>;
  /**
   * Gradients [n, ...shape] of sum_c cotangents[i][c] scores[c] with respect to the point, at each point i of x. Estimators that
   * need gradients require this function. The same point may occur several times in x.
   */
  gradient?(x: Float32Array, cotangents: Float32Array, request: BatchRequest): Rows | Promise<Rows>;
  /** The largest number of points per call; by default up to 64, but fewer if points are large. */
  batch?: number;
  /** The value of `model.info.engine`; 'function' by default. */
  name?: string;
}

const names: Names<FunctionClassifier> = {
  ...{ mean: true, std: true, memory: true, signal: true, classes: true, shape: true },
  ...{ classify: true, gradient: true, batch: true, name: true },
};

function extentsOf(shape: Numbers): number[] {
  const extents = list('shape', shape) ?? [];
  if (extents.length > 0 && extents.every((extent) => Number.isInteger(extent) && extent > 0)) return extents;
  throw usage(`shape is [${extents.join(', ')}]`, 'give the shape of one point, such as [3, 32, 32]');
}

function countOf(classes: FunctionClassifier['classes']): number {
  const count = typeof classes === 'number' ? classes : classNamesOf('classes', classes).length;
  if (Number.isInteger(count) && count > 0) return count;
  throw usage(`classes is ${String(classes)}`, 'give the number of classes, or their names');
}

type Row = ArrayLike<unknown>;
const isRow = (value: unknown): value is Row =>
  Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));

/** The numbers of `rows`, [count, width], from the function `which`. */
export function numbersOf(which: string, rows: unknown, count: number, width: number): Float32Array {
  const wanted = `return ${width} numbers for each of the ${count} points, one after another or as a list of rows`;
  if (!isRow(rows)) throw usage(`${which} did not return an array`, wanted);
  if (rows instanceof Float32Array && rows.length === count * width) return rows;
  const nested = rows.length > 0 && isRow(rows[0]);
  const parts: Row[] = nested ? (Array.from(rows) as Row[]) : [rows];
  const length = nested ? width : count * width;
  const odd = parts.findIndex((part) => !isRow(part) || part.length !== length);
  if (nested && (parts.length !== count || odd >= 0)) {
    const found = parts.length !== count ? `${parts.length} rows` : `${parts[odd]?.length ?? 'no'} numbers in row ${odd}`;
    throw usage(`${which} returned ${found}`, wanted);
  }
  if (odd >= 0) throw usage(`${which} returned ${rows.length} numbers`, wanted);
  const all = new Float32Array(count * width);
  parts.forEach((part, i) => {
    for (let k = 0; k < length; ++k) {
      if (typeof part[k] !== 'number') throw usage(`${which} returned ${typeof part[k]} at position ${i * length + k}`, wanted);
      all[i * length + k] = part[k] as number;
    }
  });
  return all;
}

/** Wraps the functions as an external engine. */
function engineOf(given: FunctionClassifier, classes: number, shape: readonly number[]): ExternalEngine {
  const end = new AbortController();

  async function answer({ count, values, cotangents }: Wants, signal: AbortSignal): Promise<Float32Array> {
    const which = cotangents ? 'gradient' : 'classify';
    const request = { count, shape: [count, ...shape], signal };
    let rows: Rows;
    try {
      rows = await (cotangents ? given.gradient!(values, cotangents, request) : given.classify(values, request));
    } catch (error) {
      throw callback(`${which} failed (${String(error)})`, undefined, error);
    }
    return numbersOf(which, rows, count, cotangents ? elementCount(shape) : classes);
  }

  return {
    isFunction: true,
    release: () => end.abort(),
    forward: (wants, signal) =>
      withController(signal, async (controller) => {
        const stop = () => controller.abort();
        if (end.signal.aborted) throw disposed('the model');
        end.signal.addEventListener('abort', stop);
        try {
          return await unlessAborted(answer(wants, controller.signal), controller.signal);
        } catch (error) {
          throw end.signal.aborted ? disposed('the model') : error;
        } finally {
          end.signal.removeEventListener('abort', stop);
        }
      }),
  };
}

/**
 * A model whose scores come from a JavaScript function. It has all methods that need only scores: `logits`, `estimate` and `sweep` with
 * `mc`, `probit`, `subset`, `softmax`, `quadrature` and `auto`, `cloud`, `nearestBoundary`, and `slice` along given directions; with
 * `gradient`, everything except `adf`. If a function throws or rejects, the call rejects with code `callback` and the function's error
 * as `cause`.
 *
 * Rejects with code `usage` if the classifier is invalid.
 */
export async function modelFromFunction(probust: Probust, classifier: FunctionClassifier): Promise<Model> {
  const given = optionsOf('modelFromFunction', classifier, names);
  if (typeof probust?.loadExternal !== 'function') {
    throw usage('the first argument of modelFromFunction is not a result of createProbust', 'give await createProbust()');
  }
  for (const which of ['classify', 'gradient'] as const) {
    if (typeof given[which] !== 'function' && (which === 'classify' || given[which] != null))
      throw usage(`${which} is not a function`, 'give a function of a batch of points');
  }
  if (given.signal?.aborted) throw aborted();
  const shape = extentsOf(given.shape);
  const classes = countOf(given.classes);
  const request = {
    ...{ mean: given.mean, std: given.std, memory: given.memory, shape, classes },
    inputShape: [1, ...shape],
    engine: given.name ?? 'function',
    output: 'scores',
    gradients: given.gradient != null,
    batch: batchOf(given.batch, elementCount(shape)),
    classNames: typeof given.classes === 'number' ? undefined : given.classes,
  };
  return probust.loadExternal(new Uint8Array(), request, engineOf(given, classes, shape));
}

/** A function that returns the perturbed point for a point x and normals z. */
export type Perturb = (x: Float32Array, z: Float32Array) => Numbers | Promise<Numbers>;

const mostLatents = 1 << 20;

const isPromise = (value: unknown): value is Promise<unknown> => typeof (value as Promise<unknown> | null)?.then === 'function';

/** Computes noisy samples with `called`, for the points and normals that the module requests. */
const samplesOf =
  (called: Perturb, name: string, latents: number) =>
  async ({ count, values, z }: SampleRequest, signal?: AbortSignal): Promise<Float32Array> => {
    const elements = values.length / count;
    const samples = new Float32Array(values.length);
    for (let i = 0; i < count; ++i) {
      let sample: unknown;
      try {
        sample = called(values.slice(i * elements, (i + 1) * elements), z!.slice(i * latents, (i + 1) * latents));
        if (isPromise(sample)) sample = await unlessAborted(sample, signal);
      } catch (error) {
        throw signal?.aborted ? aborted() : callback(`noise '${name}' failed (${String(error)})`, undefined, error);
      }
      samples.set(numbersOf(`noise '${name}'`, sample, 1, elements), i * elements);
    }
    return samples;
  };

/**
 * A perturbation x' = function(x, z), for the `noise` of estimates. x is a point as it is stored, for example an image [channels, rows,
 * columns], and z has `latents` independent standard normals; both are new arrays for each sample. The function must return as many
 * numbers as x has, directly or as a promise, and the same numbers for the same arguments. `name` names the noise in rows; by default,
 * it is the function's own name.
 *
 * Throws `usage` if an argument is invalid. If the function throws or rejects, the estimate rejects with code `callback` and the
 * function's error as `cause`.
 */
export function perturbation(called: Perturb, latents: number, name?: string): Perturbation {
  if (typeof called !== 'function') throw usage('function cannot be called', 'give a function of x and z');
  const own = name ?? (called.name || 'function');
  if (typeof own !== 'string' || own === '' || /[:+@]/.test(own))
    throw usage(`name is '${own}'`, 'give a name without : + and @');
  if (!Number.isInteger(latents) || latents < 1 || latents > mostLatents)
    throw usage(`latents is ${latents}`, `give a whole number from 1 to ${mostLatents}`);
  return { name: own, latents, function: called, samples: samplesOf(called, own, latents) };
}

export type { Perturbation } from './noise-types.js';
export { ProbustError } from './errors.js';
export type { Probust } from './api.js';
export type { Model } from './model.js';
