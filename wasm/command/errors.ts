// SPDX-License-Identifier: MIT
// The errors of the command line, of the package's own class.
import { ProbustError, type ProbustErrorCode } from '../src/index.js';

const errorsOf =
  (code: ProbustErrorCode) =>
  (message: string, hint?: string, cause?: unknown): ProbustError =>
    new ProbustError({ code, message: hint ? `${message}; ${hint}` : message, problem: message, hint }, { cause });

export const usage = errorsOf('usage');
export const unreadable = errorsOf('unreadable');
