// SPDX-License-Identifier: MIT
// Included before everything else. Eigen 3.4 then uses its SSE code, which Emscripten compiles to WebAssembly SIMD, without the
// inline assembly for GCC. Also sets the number of SIMD registers to 16: engines have at least that many, but Eigen would
// assume 8 because pointers have 32 bits.
#pragma once
#ifdef __cplusplus
#include <Eigen/src/Core/util/Macros.h>
#undef EIGEN_COMP_GNUC
#define EIGEN_COMP_GNUC 0
#define EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS 16
#endif
