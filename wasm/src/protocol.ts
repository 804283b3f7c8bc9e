// SPDX-License-Identifier: MIT
// The requests to an engine, in the same thread or through a worker's messages.
import type { ErrorRecord } from './errors.js';
import type { Modules, PartName } from './parts.js';
import type { Dataset, EstimatorInfo, ModelInfo, Progress } from './types.js';

/** Each request with its reply. */
export interface Protocol {
  describe: { request: object; reply: { version: string; estimators: EstimatorInfo[] } };
  /** `external`: `Watch.forward` runs the model's forward passes. */
  load: { request: { bytes: Uint8Array; options: object; external?: boolean }; reply: { model: number; info: ModelInfo } };
  /** Releases a model or a network in training. */
  release: { request: { handle: number }; reply: undefined };
  call: { request: { model: number; operation: string; args: object }; reply: unknown };
  data: { request: { args: object }; reply: Dataset };
  /** The reply is the handle of the network in training. */
  train: { request: { args: object }; reply: number };
  training: { request: { training: number; operation: string; args: object }; reply: unknown };
  mvn: { request: { args: object }; reply: unknown };
  analyse: { request: { operation: string; args: object }; reply: unknown };
  together: { request: { args: object }; reply: { points: number; estimators: string[] } };
}

export type Kind = keyof Protocol;
export type Request = { [K in Kind]: { kind: K } & Protocol[K]['request'] }[Kind];
export type RequestOf<K extends Kind> = { kind: K } & Protocol[K]['request'];
export type ReplyOf<K extends Kind> = Protocol[K]['reply'];

/**
 * Inputs [count, d] of the model, for which another engine must compute the logits or, if there are cotangents [count, C], the
 * gradients; or points that the caller's function `noise` must perturb, with normals z [count, k].
 */
export interface Wants {
  count: number;
  values: Float32Array;
  cotangents?: Float32Array;
  noise?: string;
  z?: Float32Array;
}

/** Runs another engine or a function; returns logits [count, C], gradients [count, d] or samples [count, d]. */
export type Forward = (wants: Wants, signal?: AbortSignal) => Promise<Float32Array>;

/** The caller's callbacks and signal for a request. */
export interface Watch {
  forward?: Forward | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
}

export type ToWorker =
  | { type: 'start'; modules: Modules; threads: number }
  | { type: 'part'; part: PartName; module?: WebAssembly.Module; error?: ErrorRecord }
  | { type: 'request'; id: number; request: Request; progress: boolean }
  | { type: 'answer'; id: number; logits?: Float32Array; error?: ErrorRecord }
  | { type: 'abort'; id: number };

export type FromWorker =
  | { type: 'ready' }
  | { type: 'failed'; error: ErrorRecord }
  /** The worker needs this part of the module. */
  | { type: 'part'; part: PartName }
  | { type: 'progress'; id: number; progress: Progress }
  | { type: 'wants'; id: number; wants: Wants }
  | { type: 'value'; id: number; value: unknown }
  | { type: 'error'; id: number; error: ErrorRecord };

/** The receiver of requests: an engine in this thread or in a worker. */
export interface Endpoint {
  send<K extends Kind>(request: RequestOf<K>, watch?: Watch): Promise<ReplyOf<K>>;
  close(): void;
}
