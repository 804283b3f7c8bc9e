// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace probust::cpu {

/// A constant right-hand side of products, [k, n], in the orders in which the innermost kernel reads it: what a product of
/// few rows would spend more time on than on its sums is done once.
class Weights {
 public:
  explicit Weights(const Eigen::MatrixXf& w);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return columns_; }
  /// Rows that the kernel takes at a time: those of one block of packed weights, the last one excepted.
  std::int64_t depth() const { return depth_; }
  /// The block of rows first .. first + depth - 1 as a right-hand side, `first` being a multiple of depth(),
  const float* columns(std::int64_t first) const { return by_columns_.data() + first * columns_; }
  /// and transposed, as a left-hand side, with zeros up to whole groups.
  const float* groups(std::int64_t first) const { return by_groups_.data() + first * height_; }

 private:
  std::int64_t rows_, columns_, height_, depth_;
  Eigen::VectorXf by_columns_, by_groups_;
};

/// out = bias + a w, with bias [n] (nullptr: zeros), a [rows, k] and out [rows, n] stored column by column, `a_stride` and
/// `out_stride` elements from column to column. Every row, which is a lane or a pixel of a lane, is summed in the same order
/// wherever it stands, so that results do not depend on how many lanes there are.
void multiply(std::int64_t rows, const float* a, std::int64_t a_stride, const Weights& w, const float* bias, float* out,
              std::int64_t out_stride, float* scratch);

/// Elements of scratch that this takes.
std::int64_t multiply_scratch(std::int64_t rows, const Weights& w);

}  // namespace probust::cpu
