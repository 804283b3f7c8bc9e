// SPDX-License-Identifier: MIT
// Included before everything else: Eigen 3.4 then takes its SSE code paths, which Emscripten turns into WebAssembly SIMD, without
// the inline assembly that it writes for GCC. And it knows that engines give SIMD 16 registers or more: pointers of 32 bits made
// it think of 8.
#pragma once
#ifdef __cplusplus
#include <Eigen/src/Core/util/Macros.h>
#undef EIGEN_COMP_GNUC
#define EIGEN_COMP_GNUC 0
#define EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS 16
#endif
