// SPDX-License-Identifier: MIT
/// <reference lib="esnext.disposable" preserve="true" />

/** Some browsers do not have Symbol.dispose yet; a substitute symbol is harmless. */
export const dispose: typeof Symbol.dispose = Symbol.dispose ?? (Symbol.for('Symbol.dispose') as typeof Symbol.dispose);
