// SPDX-License-Identifier: MIT

/** Newer than some browsers; a symbol of our own does no harm where nobody asks for it. */
export const dispose: typeof Symbol.dispose = Symbol.dispose ?? (Symbol.for('Symbol.dispose') as typeof Symbol.dispose);
