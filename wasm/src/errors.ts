// SPDX-License-Identifier: MIT

/**
 * What went wrong, by who can mend it:
 * - `usage`: an argument is wrong;
 * - `unreadable`: the bytes are no model, or damaged, or do not fit;
 * - `unsupported`: the model uses something that probust does not do (see `op` and `node`);
 * - `resources`: not enough memory;
 * - `numerical`: no number could be computed;
 * - `aborted`: an AbortSignal ended the call;
 * - `disposed`: the model or the library was disposed;
 * - `environment`: the WebAssembly module or a worker could not be started here;
 * - `internal`: a fault of probust's own; create a new instance.
 */
export type ProbustErrorCode =
  'usage' | 'unreadable' | 'unsupported' | 'resources' | 'numerical' | 'aborted' | 'disposed' | 'environment' | 'internal';

/** An error as it crosses from a worker. */
export interface ErrorRecord {
  code: ProbustErrorCode;
  message: string;
  hint?: string | undefined;
  op?: string | undefined;
  node?: string | undefined;
}

/** Everything that probust throws. `message` is one line: where, what is wrong, what would be right. */
export class ProbustError extends Error {
  override readonly name = 'ProbustError';
  readonly code: ProbustErrorCode;
  /** What would be right, where that is known. */
  readonly hint: string | undefined;
  /** The ONNX operator that it is about, as in "Conv". */
  readonly op: string | undefined;
  /** The name of the ONNX node that it is about. */
  readonly node: string | undefined;

  constructor(record: ErrorRecord, options?: { cause?: unknown }) {
    super(record.message, options);
    this.code = record.code;
    this.hint = record.hint || undefined;
    this.op = record.op || undefined;
    this.node = record.node || undefined;
  }
}

/** A ProbustError as plain data, for postMessage; anything else is a fault of our own. */
export function toRecord(error: unknown): ErrorRecord {
  if (!(error instanceof ProbustError)) return { code: 'internal', message: String(error) };
  const { code, message, hint, op, node } = error;
  return { code, message, hint, op, node };
}

export const aborted = () => new ProbustError({ code: 'aborted', message: 'the call was aborted' });
export const disposed = (what: string) => new ProbustError({ code: 'disposed', message: `${what} was disposed` });
