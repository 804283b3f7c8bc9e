// SPDX-License-Identifier: MIT
// Included before everything else: Eigen 3.4 then takes its SSE code paths, which Emscripten turns into WebAssembly SIMD, without
// the inline assembly that it writes for GCC.
#pragma once
#ifdef __cplusplus
#include <Eigen/src/Core/util/Macros.h>
#undef EIGEN_COMP_GNUC
#define EIGEN_COMP_GNUC 0
#endif
