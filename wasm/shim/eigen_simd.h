// SPDX-License-Identifier: MIT
// Included before everything else. Eigen 3.4 then takes its SSE code paths, which Emscripten turns into WebAssembly SIMD, without
// the inline assembly for GCC. It also sets the number of SIMD registers to 16; engines have at least that many, but because of
// 32-bit pointers Eigen would assume 8.
#pragma once
#ifdef __cplusplus
#include <Eigen/src/Core/util/Macros.h>
#undef EIGEN_COMP_GNUC
#define EIGEN_COMP_GNUC 0
#define EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS 16
#endif
