// SPDX-License-Identifier: MIT
// Preloaded by node: imports by node itself, not by the test runner, which would rewrite what is tested.
globalThis.importByNode = (url) => import(url);
