// SPDX-License-Identifier: MIT
// Loads the network with probust's engine or, if that lacks an operator, with ONNX Runtime Web.
import digitsUrl from '../../../models/digits.onnx?url';
import type { Model, ModelInfo, ModelOptions } from 'probust';
import type { Engine, Side } from '../../engine/engine.js';
import { isAborted } from '../../engine/latest.js';
import { secondEngine } from '../../engine/second.js';
import type { State } from '../../state/state.js';
import { channelsLast, shapeOf, type Shape } from './picture.js';

/** Preprocessing from pixels in [0, 1] to the model's input. */
export type Preparation = Readonly<Pick<State, 'imageMean' | 'imageStd' | 'imageLayout'>>;

export { digitsUrl };

export interface Loaded {
  model: Model;
  shape: Shape;
  /** Why probust's engine cannot run the model; undefined if it can. */
  refusal: string | undefined;
}

/** An error whose message is for the user. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

type Load = (options: ModelOptions) => Promise<Model>;

const codeOf = (error: unknown): string | undefined => (error as { code?: string } | null)?.code;
/** The error's message without its hint, which is for developers. */
const sentenceOf = (error: unknown): string => {
  const hint = (error as { hint?: string } | null)?.hint;
  return hint ? messageOf(error).slice(0, -hint.length - 2) : messageOf(error);
};
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function requireImage(info: ModelInfo): Shape {
  const shape = shapeOf(info);
  if (shape && info.classes > 1) return shape;
  const taken = info.pointShape.join(' × ');
  throw new Refused(
    shape
      ? `This model has only ${info.classes} output. The image lab needs a classifier with at least two classes.`
      : `This model’s input has the shape ${taken}, which is not that of an image. The image lab needs an input such as 28 × 28 or 3 × 32 × 32.`,
  );
}

const isPlain = ({ imageMean, imageStd, imageLayout }: Preparation): boolean =>
  imageLayout === 'auto' && imageMean.every((value) => value === 0) && imageStd.every((value) => value === 1);

function optionsOf(preparation: Preparation, { channels, height, width }: Shape): ModelOptions {
  const { imageMean: mean, imageStd: std, imageLayout: layout } = preparation;
  return { mean, std, layout, shape: [channels, height, width] };
}

/**
 * The shape is known only after loading, so the model may have to be loaded twice, the second time with options for its shape.
 */
async function prepared(load: Load, preparation: Preparation): Promise<Omit<Loaded, 'refusal'>> {
  const plain = await load({});
  try {
    const shape = requireImage(plain.info);
    if (isPlain(preparation) && !channelsLast(plain.info)) return { model: plain, shape };
    const model = await load(optionsOf(preparation, shape));
    plain.dispose();
    return { model, shape };
  } catch (error) {
    plain.dispose();
    throw error;
  }
}

async function loadExternal(engine: Engine, side: Side, bytes: Uint8Array, preparation: Preparation) {
  const [{ createOrtModel }, probust] = await Promise.all([secondEngine(), engine.probust(side)]);
  return prepared((options) => createOrtModel(probust, bytes, options), preparation);
}

/** Loads a network. Rejects with `Refused`, whose message is for users. */
export async function load(engine: Engine, side: Side, bytes: Uint8Array, preparation: Preparation): Promise<Loaded> {
  try {
    return { ...(await prepared((options) => engine.load(side, bytes, options), preparation)), refusal: undefined };
  } catch (error) {
    if (error instanceof Refused || isAborted(error)) throw error;
    if (codeOf(error) === 'unsupported') return loadInstead(engine, side, bytes, preparation, sentenceOf(error));
    throw new Refused(
      codeOf(error) === 'unreadable'
        ? `This file cannot be read as an ONNX model: ${messageOf(error)}.`
        : `This model does not fit these settings: ${messageOf(error)}.`,
      { cause: error },
    );
  }
}

async function loadInstead(engine: Engine, side: Side, bytes: Uint8Array, preparation: Preparation, refusal: string) {
  try {
    return { ...(await loadExternal(engine, side, bytes, preparation)), refusal };
  } catch (error) {
    if (error instanceof Refused) throw error;
    const message = `Neither engine can run this model. probust: ${refusal}. ONNX Runtime Web: ${messageOf(error)}.`;
    throw new Refused(message, { cause: error });
  }
}

/** The number of samples: fewer for slower models, so that an estimate takes about a second. */
export function copiesFor({ flops }: ModelInfo): number {
  if (Number.isNaN(flops)) return 300;
  return flops < 3e6 ? 1000 : flops < 3e7 ? 300 : 100;
}
