// SPDX-License-Identifier: MIT
// Preloaded by node: imports without the test runner, which would rewrite the tested modules.
globalThis.importByNode = (url) => import(url);
