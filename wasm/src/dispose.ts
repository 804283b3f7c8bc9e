// SPDX-License-Identifier: MIT
/// <reference lib="esnext.disposable" preserve="true" />

/** Newer than some browsers; a symbol of our own does no harm where nobody asks for it. */
export const dispose: typeof Symbol.dispose = Symbol.dispose ?? (Symbol.for('Symbol.dispose') as typeof Symbol.dispose);
