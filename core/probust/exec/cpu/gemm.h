// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace probust::cpu {

/// A constant right-hand side of products, [k, n], stored column by column.
using Weights = Eigen::MatrixXf;

/// Rows that Eigen's innermost kernel takes at a time. Products below are always made of whole groups of this many rows, the
/// last one padded with zeros: then every row, which is a lane or a pixel of a lane, is computed by the same instructions in the
/// same order wherever it stands, and results do not depend on how many lanes there are.
std::int64_t row_group();

/// Bytes of scratch that `multiply` may take.
std::int64_t multiply_scratch(std::int64_t k, std::int64_t n);

/// out = a w, with a [rows, k] and out [rows, n] stored column by column, `a_stride` and `out_stride` elements from column to
/// column.
void multiply(std::int64_t rows, const float* a, std::int64_t a_stride, const Weights& w, float* out, std::int64_t out_stride,
              std::vector<float>& scratch);

/// The same for a whole number of row groups.
void multiply_whole(std::int64_t rows, const float* a, std::int64_t a_stride, const Weights& w, float* out,
                    std::int64_t out_stride);

}  // namespace probust::cpu
