// SPDX-License-Identifier: MIT

/**
 * What went wrong:
 * - `usage`: an argument is wrong;
 * - `unreadable`: the bytes are not a model, are damaged, or do not match the shape of the data;
 * - `unsupported`: the model uses something that probust does not support (see `op` and `node`);
 * - `resources`: not enough memory;
 * - `numerical`: no number could be computed;
 * - `aborted`: an AbortSignal ended the call;
 * - `disposed`: the model or the library was disposed;
 * - `callback`: your function failed; `cause` is its error;
 * - `environment`: the WebAssembly module or a worker could not be started here;
 * - `internal`: a bug in probust; create a new instance.
 */
export type ProbustErrorCode =
  | 'usage'
  | 'unreadable'
  | 'unsupported'
  | 'resources'
  | 'numerical'
  | 'aborted'
  | 'disposed'
  | 'callback'
  | 'environment'
  | 'internal';

/** An error as plain data, in the form in which workers send it. */
export interface ErrorRecord {
  code: ProbustErrorCode;
  message: string;
  problem?: string | undefined;
  hint?: string | undefined;
  op?: string | undefined;
  node?: string | undefined;
}

/** The class of all errors of probust. `message` is one line: the problem as a sentence, then a remedy. */
export class ProbustError extends Error {
  override readonly name = 'ProbustError';
  readonly code: ProbustErrorCode;
  /** The problem, without the remedy. */
  readonly problem: string;
  /** The remedy, if there is one. */
  readonly hint: string | undefined;
  /** The ONNX operator to which the error refers, such as "Conv". */
  readonly op: string | undefined;
  /** The name of the ONNX node to which the error refers. */
  readonly node: string | undefined;

  constructor(record: ErrorRecord, options?: { cause?: unknown }) {
    super(record.message, options);
    this.code = record.code;
    this.problem = record.problem ?? record.message;
    this.hint = record.hint || undefined;
    this.op = record.op || undefined;
    this.node = record.node || undefined;
  }
}

/** Converts an error to plain data, for postMessage. Any error other than a ProbustError becomes `internal`. */
export function toRecord(error: unknown): ErrorRecord {
  if (!(error instanceof ProbustError)) return { code: 'internal', message: String(error) };
  const { code, message, problem, hint, op, node } = error;
  return { code, message, problem, hint, op, node };
}

/** Returns a function that creates errors with this code. The message ends with the hint, if there is one. */
const errorsOf =
  (code: ProbustErrorCode) =>
  (message: string, hint?: string, cause?: unknown): ProbustError =>
    new ProbustError({ code, message: hint ? `${message}; ${hint}` : message, problem: message, hint }, { cause });

export const usage = errorsOf('usage');
export const unreadable = errorsOf('unreadable');
export const unsupported = errorsOf('unsupported');
export const resources = errorsOf('resources');
export const callback = errorsOf('callback');
export const environment = errorsOf('environment');
export const internal = errorsOf('internal');
export const aborted = () => new ProbustError({ code: 'aborted', message: 'the call was aborted' });
export const disposed = (what: string) => new ProbustError({ code: 'disposed', message: `${what} was disposed` });
