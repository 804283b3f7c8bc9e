// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "probust/base/tensor.h"
#include "probust/exec/programs/workspace.h"

namespace probust::cpu {

/// Column-packed weights: a constant right-hand side [k, n] of products, in the order in which the innermost kernel reads it.
/// Weights are packed only once, because for few rows packing takes longer than the product.
class Weights {
 public:
  /// How products handle the rows that remain after the last whole group.
  enum class Rest {
    padded,  ///< padded with zeros to a group: for products with many rows
    turned,  ///< computed as a transposed product, which needs a second packed copy, made on first use
  };

  /// Returns rows first .. first + count - 1 of w as [count, n]. It is called for one block at a time, so that w is never in
  /// memory twice.
  using Rows = std::function<Eigen::MatrixXf(std::int64_t first, std::int64_t count)>;

  Weights(std::int64_t rows, std::int64_t columns, Rest rest, const Rows& w);
  Weights(const Eigen::MatrixXf& w, Rest rest);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return columns_; }
  Rest rest() const { return rest_; }
  /// The number of rows of w per block of packed weights; the last block may have fewer.
  std::int64_t depth() const { return depth_; }
  /// The block of rows first .. first + depth - 1 as a right-hand side; `first` is a multiple of depth().
  const float* columns(std::int64_t first) const { return by_columns_.data() + first * columns_; }
  /// The same block transposed, as a left-hand side, padded with zeros to whole groups.
  const float* groups(std::int64_t first) const;

 private:
  std::int64_t rows_, columns_, height_, depth_;
  Rest rest_;
  Eigen::VectorXf by_columns_;
  mutable std::once_flag turned_;
  mutable Eigen::VectorXf by_groups_;  // made on first use
};

/// The faster of the two if each lane contributes this many rows to the product.
inline Weights::Rest rest_for(std::int64_t rows_of_a_lane) {
  return rows_of_a_lane >= 16 ? Weights::Rest::padded : Weights::Rest::turned;
}

/// Bytes of the packed weights of a constant.
inline std::int64_t packed_bytes(std::int64_t size, Weights::Rest rest) {
  return size * static_cast<std::int64_t>(sizeof(float)) * (rest == Weights::Rest::turned ? 2 : 1);
}

/// Limits for the number of rows to gather at once: as many as fit into the second-level cache, but at least a whole group of any
/// kernel.
inline constexpr std::int64_t kGatherBytes = 192 << 10;
inline constexpr std::int64_t kLeastRows = 48;

/// out = bias + a w, with bias [n] (nullptr: zeros), a [rows, k] and out [rows, n] stored column by column, `a_stride` and
/// `out_stride` elements from column to column. Every row (a lane, or a pixel of a lane) is summed in the same order wherever it
/// is, so results do not depend on the number of lanes. `packed` is memory for packed operands.
void multiply(std::int64_t rows, const float* a, std::int64_t a_stride, const Weights& w, const float* bias, float* out,
              std::int64_t out_stride, Stretch& packed);

/// The extents of aᵀ b for a [depth, rows] and b [depth, columns].
struct TransposedProduct {
  std::int64_t depth, rows, columns;
};

/// The number of rows that add_transposed_product writes: whole groups of the kernel.
std::int64_t padded_rows(std::int64_t rows);

/// sums += aᵀ b, with a, b and sums [padded_rows(rows), columns] stored column by column, without gaps. Products are summed
/// over the depth before they are added to `sums`.
void add_transposed_product(const TransposedProduct& size, const float* a, const float* b, float* sums, Stretch& packed);

}  // namespace probust::cpu
