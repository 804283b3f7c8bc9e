// SPDX-License-Identifier: MIT
// The image lab without its user interface: the network, the picture, the requests and the answers. Each answer is kept with
// the key of its request, so that stale ones can be dimmed.
import type { Model } from 'probust';
import type { Engine } from '../../engine/engine.js';
import { Newest, pause, Replacing, type Kept } from '../../engine/latest.js';
import type { State } from '../../state/state.js';
import { bytesOf } from '../plane/models.js';
import {
  askCurves,
  askedOf,
  askListed,
  askPlane,
  askPreviews,
  askQuick,
  type Asked,
  type Curves,
  type Listed,
  type Plane,
  type Preview,
  type Quick,
} from './answers.js';
import { digitsUrl, load, Refused, type Loaded, type Preparation } from './models.js';
import { decode, fitted, fromFile, type Picture } from './picture.js';

export interface Answers {
  quick?: Kept<Quick>;
  listed?: Kept<Listed>;
  previews?: Kept<Preview[]>;
  plane?: Kept<Plane>;
  curves?: Kept<Curves>;
}

export interface Callbacks {
  changed(): void;
  failed(error: unknown): void;
  /** Another network is in use; `own` if the user has just dropped it. */
  loaded(loaded: Loaded, own: boolean): void;
  wants(panel: string): boolean;
}

/** How long the state must be unchanged before costly requests are made. */
const restMilliseconds = 180;

/** Digits that the network was not trained on: its training script uses the seeds 0 and 1. */
const variantSeed = 1000;

/** Preprocessing that changes nothing: the default for every new network. */
export const plain: Preparation = { imageMean: [0], imageStd: [1], imageLayout: 'auto' };

const networkKey = (name: string, { imageMean, imageStd, imageLayout }: Preparation): string =>
  [name, imageMean, imageStd, imageLayout].join(' ');

export class Session {
  answers: Answers = {};
  loaded: Loaded | undefined;
  picture: Picture | undefined;
  /** Name of the file that was dropped. */
  name = '';
  #version = 0;
  /** Key of the network in use or being loaded. */
  #network = '';
  #own: Uint8Array | undefined;
  #bytes: Uint8Array | undefined;
  #patient: Promise<Model> | undefined;
  readonly #loading = new Replacing((error) => this.callbacks.failed(error));
  readonly #drawing = new Replacing((error) => this.callbacks.failed(error));
  readonly #frames = new Newest((error) => this.callbacks.failed(error));
  readonly #rest = new Replacing((error) => this.callbacks.failed(error));

  constructor(
    private readonly engine: Engine,
    private readonly state: () => Readonly<State>,
    private readonly callbacks: Callbacks,
  ) {}

  /** A key of everything that a request depends on. */
  key({ imageSigma, imageCopies, imageClip, imageEstimators, seed }: Readonly<State>): string {
    return [this.#version, imageSigma, imageCopies, imageClip, imageEstimators, seed].join(' ');
  }

  stateChanged(state: Readonly<State>, before: Readonly<State> | undefined): void {
    const network = networkKey(state.imageModel, state);
    const picture = (['imageDigit', 'imageVariant', 'imagePixels'] as const).some((key) => state[key] !== before?.[key]);
    if (network !== this.#network) this.#load(network);
    else if (picture) this.#draw();
    else if (before && this.key(state) !== this.key(before)) this.ask();
  }

  dispose(): void {
    for (const work of [this.#loading, this.#drawing, this.#frames, this.#rest]) work.stop();
    this.#release();
  }

  /** Makes this network "own" and uses it. If it cannot be loaded, nothing changes. */
  async offer(bytes: Uint8Array, name: string): Promise<void> {
    const found = await load(this.engine, 'quick', bytes, plain);
    this.#own = bytes;
    this.name = name;
    this.#network = networkKey('own', plain);
    this.#use(found, bytes, true);
  }

  async open(file: Blob): Promise<Picture> {
    try {
      return await fromFile(file, this.loaded!.shape);
    } catch (error) {
      throw new Refused('This file is neither an ONNX model nor an image that your browser can open.', { cause: error });
    }
  }

  #load(network: string): void {
    this.#network = network;
    this.#loading.run(async (signal) => {
      const { imageModel } = this.state();
      const bytes = imageModel === 'own' ? this.#own : await bytesOf(imageModel === 'digits' ? digitsUrl : imageModel, signal);
      if (!bytes) throw new Refused('This link was made with a model from its author’s own machine: drop that ONNX file here.');
      const found = await load(this.engine, 'quick', bytes, this.state());
      if (signal.aborted) found.model.dispose();
      else this.#use(found, bytes, false);
    });
  }

  #use(found: Loaded, bytes: Uint8Array, own: boolean): void {
    this.#loading.stop();
    this.#release();
    [this.loaded, this.#bytes] = [found, bytes];
    this.answers = {};
    // The previous picture may not have the shape that this network takes.
    this.picture = undefined;
    this.callbacks.loaded(found, own);
    this.#draw();
  }

  #release(): void {
    for (const work of [this.#frames, this.#rest]) work.stop();
    this.loaded?.model.dispose();
    if (this.loaded?.refusal === undefined) void this.#patient?.then((model) => model.dispose()).catch(() => undefined);
    this.loaded = this.#patient = undefined;
  }

  /** Makes the picture that the state names, in the network's shape. */
  #draw(): void {
    this.#drawing.run(async (signal) => {
      const { loaded } = this;
      if (!loaded) return;
      const picture = fitted(decode(this.state().imagePixels) ?? (await this.#digit(signal)), loaded.shape);
      if (signal.aborted || loaded !== this.loaded) return;
      this.picture = picture;
      this.#version += 1;
      this.ask();
      this.callbacks.changed();
    });
  }

  async #digit(signal: AbortSignal): Promise<Picture> {
    const { imageDigit, imageVariant } = this.state();
    const probust = await this.engine.probust('quick');
    const { x } = await probust.data.digits({ count: 10, seed: variantSeed + imageVariant, signal });
    return { channels: 1, height: 28, width: 28, values: x.slice(784 * imageDigit, 784 * (imageDigit + 1)) };
  }

  /** Requests everything that is shown; costly requests wait until the state has not changed for a while. */
  ask(): void {
    const { loaded, picture } = this;
    if (!loaded || !picture) return;
    const asked = askedOf(this.state(), picture);
    const key = this.key(this.state());
    this.#frames.run(async (signal) => this.#keep('quick', key, await askQuick(loaded, asked, signal)));
    this.#rest.run(async (signal) => {
      await pause(restMilliseconds, signal);
      await this.#refine(loaded, asked, key, signal);
    });
  }

  async #refine(loaded: Loaded, asked: Asked, key: string, signal: AbortSignal): Promise<void> {
    const { wants } = this.callbacks;
    const { imageEstimators } = this.state();
    const model = await this.#second(loaded);
    if (wants('previews')) this.#keep('previews', key, await askPreviews(model, asked, signal));
    const listed = await askListed({ ...loaded, model }, asked, imageEstimators, signal);
    this.#keep('listed', key, listed);
    if (wants('plane')) this.#keep('plane', key, await askPlane(model, asked, listed.boundary, signal));
    if (!wants('curves')) return;
    for await (const curves of askCurves(model, asked, imageEstimators, signal)) this.#keep('curves', key, curves);
  }

  /** The model in the other worker. ONNX Runtime runs in one place only, so there it is the same model. */
  #second({ model, refusal }: Loaded): Promise<Model> {
    if (refusal !== undefined) return (this.#patient ??= Promise.resolve(model));
    return (this.#patient ??= load(this.engine, 'patient', this.#bytes!, this.state()).then((found) => found.model));
  }

  #keep<K extends keyof Answers>(name: K, key: string, value: NonNullable<Answers[K]>['value']): void {
    this.answers = { ...this.answers, [name]: { key, value } };
    this.callbacks.changed();
  }
}
