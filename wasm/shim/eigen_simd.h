// SPDX-License-Identifier: MIT
// Included before everything else: Eigen 3.4 then takes its SSE code paths, which Emscripten turns into WebAssembly SIMD, without
// the inline assembly that it writes for GCC. And it takes its larger kernel of 12 rows, as if there were an instruction for a *
// b + c: pointers of 32 bits made it think of 8 registers and a kernel of 4 rows, but engines give SIMD the 16 or 32 of the
// processor (matrix products at 34 GFLOP/s instead of 29 on x86-64).
#pragma once
#ifdef __cplusplus
#include <Eigen/src/Core/util/Macros.h>
#undef EIGEN_COMP_GNUC
#define EIGEN_COMP_GNUC 0
#define EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS 16
#define EIGEN_HAS_SINGLE_INSTRUCTION_MADD
#endif
