// SPDX-License-Identifier: MIT
export type { Probust } from './api.js';
export { ProbustError, type ProbustErrorCode } from './errors.js';
export type { Model } from './model.js';
export type { Data, Training } from './training.js';
export type * from './check.js';
export type * from './gradient-types.js';
export type * from './types.js';
export type * from './verify-types.js';
