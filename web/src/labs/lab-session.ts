// SPDX-License-Identifier: MIT
// The base class of the labs' sessions, which have no user interface: they hold the network, send requests and store the
// results.
import type { EstimatorInfo, Model } from 'probust';
import type { Engine } from '../engine/engine.js';
import { Newest, pause, Replacing } from '../engine/latest.js';
import { isVisible, type State } from '../state/state.js';

/** A result, and the key of its request. */
export interface Kept<T> {
  key: string;
  value: T;
}

/** The latest result of each kind. A result is stale if its key is not the current one. */
export type Answers<Values> = { [K in keyof Values]?: Kept<Values[K]> };

export interface SessionCallbacks {
  /** Called when there is something new to show. */
  changed(): void;
  /** Called when a kind of work ends, with or without an error. */
  settled(work: object, error?: unknown): void;
}

/** A network in the quick worker and, as soon as it is needed there, in the patient worker. */
export class Network {
  #patient: Promise<Model> | undefined;

  constructor(
    readonly quick: Model,
    private readonly load: () => Promise<Model>,
  ) {}

  patient(): Promise<Model> {
    return (this.#patient ??= this.load());
  }

  dispose(): void {
    this.quick.dispose();
    void this.#patient?.then((model) => model.dispose()).catch(() => undefined);
  }
}

/** `Values` names the results and their types. */
export abstract class LabSession<Values extends object, Callbacks extends SessionCallbacks = SessionCallbacks> {
  answers: Answers<Values> = {};
  protected network: Network | undefined;
  /** A counter of changes outside the state on which requests depend, such as a new network. */
  protected version = 0;
  protected readonly loading = this.replacing();
  protected readonly frames = this.newest();
  readonly #rest = this.replacing();

  constructor(
    protected readonly engine: Engine,
    protected readonly state: () => Readonly<State>,
    protected readonly callbacks: Callbacks,
  ) {}

  get estimators(): readonly EstimatorInfo[] {
    return this.engine.estimators;
  }

  /** A key of everything that a request depends on. */
  abstract key(state: Readonly<State>): string;

  /** Called when the state changes, and once at the start, without `before`. */
  abstract stateChanged(state: Readonly<State>, before: Readonly<State> | undefined): void;

  /** Stops all work and frees the network. */
  dispose(): void {
    this.loading.stop();
    this.stopAsking();
    this.network?.dispose();
    this.network = undefined;
  }

  protected replacing(): Replacing {
    const work = new Replacing((error) => this.callbacks.settled(work, error));
    return work;
  }

  protected newest(): Newest {
    const work = new Newest((error) => this.callbacks.settled(work, error));
    return work;
  }

  protected keep<K extends keyof Values>(name: K, key: string, value: Values[K]): void {
    this.answers = { ...this.answers, [name]: { key, value } };
    this.callbacks.changed();
  }

  protected stopAsking(): void {
    this.frames.stop();
    this.#rest.stop();
  }

  /** The network in the patient worker. */
  protected patient(): Promise<Model> {
    return this.network!.patient();
  }

  /** Whether a panel with costly results is visible. */
  protected wants(panel: string): boolean {
    return isVisible(this.state(), panel);
  }

  /** Starts costly work after a pause of `milliseconds`. Another call stops that work, or the wait for it. */
  protected atRest(milliseconds: number, work: (signal: AbortSignal) => Promise<void>): void {
    this.#rest.run(async (signal) => {
      await pause(milliseconds, signal);
      await work(signal);
    });
  }
}
