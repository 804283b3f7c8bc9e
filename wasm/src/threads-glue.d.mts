// SPDX-License-Identifier: MIT
// Emscripten writes threads-glue.mjs at build time.
import type { ModuleFactory } from './raw.js';
declare const createModule: ModuleFactory;
export default createModule;
