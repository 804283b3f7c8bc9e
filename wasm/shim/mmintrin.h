// SPDX-License-Identifier: MIT
// Emscripten's SSE headers have no MMX. Eigen includes this header, but uses nothing from it in WebAssembly.
#pragma once
