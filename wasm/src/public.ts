// SPDX-License-Identifier: MIT
export type { Model, Probust } from './api.js';
export { ProbustError, type ProbustErrorCode } from './errors.js';
export type { Data, Training } from './training.js';
export type * from './types.js';
