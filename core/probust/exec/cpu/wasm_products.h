// SPDX-License-Identifier: MIT
// The innermost kernel of matrix products in WebAssembly, with the interface, packing and tile width of Eigen's kernel, which is
// slow there. Eigen unrolls eight steps of depth, which LLVM and Binaryen reorder so that each sum's eight steps come one after
// another. More values are then live than engines have registers (V8: 15 on x86-64), and half of the time is spent on spills.
// Here the loop body is one step: a tile of 8 rows by 4 columns needs 8 vectors of sums, 2 of rows and 1 for a column's element,
// and nothing is spilled. Measured in one page, it reaches 48 GFLOP/s; Eigen's kernel reaches 32 with 12 rows, and 27 to 32 with
// 8 rows. Tiles of 12 by 3, 16 by 2 and 8 by 5 are within 8%.
#pragma once

#include <wasm_simd128.h>

#include <Eigen/Core>

namespace probust::cpu {

/// Replaces Eigen::internal::gebp_kernel, and has its interface.
struct WasmProducts {
  using Index = Eigen::Index;
  using Out = Eigen::internal::blas_data_mapper<float, Index, Eigen::ColMajor>;
  static constexpr int kHeight = 8, kWidth = 4;

  /// out += rows columns, with `rows` packed in groups of kHeight, and `columns` in groups of kWidth, except for the last n %
  /// kWidth, which are packed one by one. `count`, the number of rows, is a multiple of kHeight. Each element's products are
  /// summed in the order of depth before they are added to it. No operand needs alignment. The factor, which Eigen's interface
  /// requires, must be 1.
  void operator()(const Out& out, const float* rows, const float* columns, Index count, Index depth, Index n, float /*one*/) {
    const Index wide = n / kWidth * kWidth;
    for (Index column = 0; column < wide; column += kWidth) {
      for (Index row = 0; row < count; row += kHeight)
        add_tile<kWidth>(rows + row * depth, columns + column * depth, depth, &out(row, column), out.stride());
    }
    for (Index column = wide; column < n; ++column) {
      for (Index row = 0; row < count; row += kHeight)
        add_tile<1>(rows + row * depth, columns + column * depth, depth, &out(row, column), out.stride());
    }
  }

 private:
  template <int Columns>
  static void add_tile(const float* rows, const float* columns, Index depth, float* out, Index stride) {
    const v128_t zero = wasm_f32x4_const(0, 0, 0, 0);
    v128_t upper[Columns], lower[Columns];
    for (int j = 0; j < Columns; ++j) upper[j] = lower[j] = zero;
    for (Index k = 0; k < depth; ++k, rows += kHeight, columns += Columns) {
      const v128_t first = wasm_v128_load(rows), second = wasm_v128_load(rows + 4);
      for (int j = 0; j < Columns; ++j) {
        const v128_t element = wasm_v128_load32_splat(columns + j);
        upper[j] = wasm_f32x4_add(upper[j], wasm_f32x4_mul(first, element));
        lower[j] = wasm_f32x4_add(lower[j], wasm_f32x4_mul(second, element));
      }
    }
    for (int j = 0; j < Columns; ++j) {
      float* const sums = out + j * stride;
      wasm_v128_store(sums, wasm_f32x4_add(wasm_v128_load(sums), upper[j]));
      wasm_v128_store(sums + 4, wasm_f32x4_add(wasm_v128_load(sums + 4), lower[j]));
    }
  }
};

}  // namespace probust::cpu
