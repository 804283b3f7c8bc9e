// SPDX-License-Identifier: MIT
// Emscripten writes threads-glue.mjs at build time.
export { default } from './glue.mjs';
