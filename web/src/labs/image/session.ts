// SPDX-License-Identifier: MIT
// The image lab's network and picture, its requests and their results.
import type { Curves } from '../../panels/curves.js';
import { listedOf, type State } from '../../state/state.js';
import { bytesOf } from '../../engine/files.js';
import { LabSession, Network, type SessionCallbacks } from '../lab-session.js';
import {
  askCurves,
  askedOf,
  askListed,
  askPlane,
  askPreviews,
  askQuick,
  type Asked,
  type Listed,
  type Plane,
  type Preview,
  type Quick,
} from './answers.js';
import { keepModel, keptModel } from './kept.js';
import { digitsUrl, load, Refused, type Loaded, type Preparation } from './models.js';
import { decode, fitted, fromFile, type Picture } from './picture.js';

export interface ImageValues {
  quick: Quick;
  listed: Listed;
  previews: Preview[];
  plane: Plane;
  curves: Curves;
}

export interface ImageCallbacks extends SessionCallbacks {
  /** Called when another network is in use. `own`: whether the user has just dropped it as a file. */
  loaded(loaded: Loaded, own: boolean): void;
}

const restMilliseconds = 180;

/** Digits that the network was not trained on: the training script uses the seeds 0 and 1. */
const variantSeed = 1000;

/** Preprocessing that changes nothing: the default for every new network. */
export const plain: Preparation = { imageMean: [0], imageStd: [1], imageLayout: 'auto' };

const networkKey = (name: string, { imageMean, imageStd, imageLayout }: Preparation): string =>
  [name, imageMean, imageStd, imageLayout].join(' ');

export class ImageSession extends LabSession<ImageValues, ImageCallbacks> {
  loaded: Loaded | undefined;
  picture: Picture | undefined;
  /** Name of the file that the user dropped. */
  name = '';
  /** Key of the network in use or being loaded. */
  #networkKey = '';
  #own: Uint8Array | undefined;
  readonly #drawing = this.replacing();

  override key(state: Readonly<State>): string {
    const { more, imageSigma, imageCopies, imageClip, seed } = state;
    return [this.version, more, imageSigma, imageCopies, imageClip, listedOf(state, 'imageEstimators'), seed].join(' ');
  }

  override stateChanged(state: Readonly<State>, before: Readonly<State> | undefined): void {
    const network = networkKey(state.imageModel, state);
    const picture = (['imageDigit', 'imageVariant', 'imagePixels'] as const).some((key) => state[key] !== before?.[key]);
    if (network !== this.#networkKey) this.#load(network);
    else if (picture) this.#draw();
    else if (before && (this.key(state) !== this.key(before) || state.panels !== before.panels)) this.#ask();
  }

  override dispose(): void {
    this.#drawing.stop();
    super.dispose();
    this.loaded = undefined;
  }

  /** Makes this network "own" and uses it. If it cannot be loaded, nothing changes. */
  async offer(bytes: Uint8Array, name: string): Promise<void> {
    const found = await load(this.engine, 'quick', bytes, plain);
    // Stored before the link says "own", so that a reload finds the model.
    await keepModel({ name, bytes });
    this.#own = bytes;
    this.name = name;
    this.#networkKey = networkKey('own', plain);
    this.#use(found, bytes, plain, true);
  }

  async open(file: Blob): Promise<Picture> {
    try {
      return await fromFile(file, this.loaded!.shape);
    } catch (error) {
      throw new Refused('This file is neither an ONNX model nor an image that your browser can open.', { cause: error });
    }
  }

  #load(network: string): void {
    this.#networkKey = network;
    this.loading.run(async (signal) => {
      const state = this.state();
      const bytes = await this.#bytes(state.imageModel, signal);
      const found = await load(this.engine, 'quick', bytes, state);
      if (signal.aborted) found.model.dispose();
      else this.#use(found, bytes, state, false);
    });
  }

  async #bytes(name: string, signal: AbortSignal): Promise<Uint8Array> {
    if (name !== 'own') return bytesOf(name === 'digits' ? digitsUrl : name, signal);
    if (this.#own) return this.#own;
    const kept = await keptModel();
    if (kept) {
      this.name = kept.name;
      return (this.#own = kept.bytes);
    }
    // The picture is part of the link, so it can be shown without the network.
    this.#draw();
    throw new Refused('This link refers to a model file on its author’s machine. Drop that ONNX file here.');
  }

  #use(found: Loaded, bytes: Uint8Array, preparation: Preparation, own: boolean): void {
    this.loading.stop();
    this.stopAsking();
    this.network?.dispose();
    // There is only one ONNX Runtime session, which serves requests of both kinds.
    const patient = async () =>
      found.refusal === undefined ? (await load(this.engine, 'patient', bytes, preparation)).model : found.model;
    this.network = new Network(found.model, patient);
    this.loaded = found;
    this.answers = {};
    // The previous picture may not have the shape that this network expects.
    this.picture = undefined;
    this.callbacks.loaded(found, own);
    this.#draw();
  }

  /** Creates the picture that the state describes, in the shape that the network expects if there is a network. */
  #draw(): void {
    this.#drawing.run(async (signal) => {
      const { loaded } = this;
      const drawn = decode(this.state().imagePixels) ?? (await this.#digit(signal));
      const picture = loaded ? fitted(drawn, loaded.shape) : drawn;
      if (signal.aborted || loaded !== this.loaded) return;
      this.picture = picture;
      this.version += 1;
      this.#ask();
      this.callbacks.changed();
    });
  }

  async #digit(signal: AbortSignal): Promise<Picture> {
    const { imageDigit, imageVariant } = this.state();
    const probust = await this.engine.probust('quick');
    const { x } = await probust.data.digits({ count: 10, seed: variantSeed + imageVariant, signal });
    return { channels: 1, height: 28, width: 28, values: x.slice(784 * imageDigit, 784 * (imageDigit + 1)) };
  }

  /** Requests everything that is shown. */
  #ask(): void {
    const { loaded, picture } = this;
    if (!loaded || !picture) return;
    const asked = askedOf(this.state(), picture);
    const key = this.key(this.state());
    this.frames.run(async (signal) => this.keep('quick', key, await askQuick(loaded, asked, signal)));
    this.atRest(restMilliseconds, (signal) => this.#refine(loaded, asked, key, signal));
  }

  async #refine(loaded: Loaded, asked: Asked, key: string, signal: AbortSignal): Promise<void> {
    const estimators = listedOf(this.state(), 'imageEstimators');
    const model = await this.patient();
    if (this.wants('previews')) this.keep('previews', key, await askPreviews(model, asked, signal));
    const listed = await askListed({ ...loaded, model }, asked, estimators, signal);
    this.keep('listed', key, listed);
    if (this.wants('plane')) this.keep('plane', key, await askPlane(model, asked, listed.boundary, signal));
    if (!this.wants('curves')) return;
    for await (const curves of askCurves(model, asked, estimators, signal)) this.keep('curves', key, curves);
  }
}
