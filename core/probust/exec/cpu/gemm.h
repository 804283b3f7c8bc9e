// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "probust/base/tensor.h"
#include "probust/exec/workspace.h"

namespace probust::cpu {

/// A constant right-hand side of products, [k, n], in the order in which the innermost kernel reads it: what a product of few
/// rows would spend more time on than on its sums is done once.
class Weights {
 public:
  /// What products do with the rows that are left over after whole groups of the kernel.
  enum class Rest {
    padded,  ///< fill them up to a group with zeros: where most products have many rows
    turned,  ///< form the product the other way round, which takes as much memory again once it happens
  };

  /// Rows first .. first + count - 1 of w: [count, n]. They are asked for a block at a time, so that w need not be there twice.
  using Rows = std::function<Eigen::MatrixXf(std::int64_t first, std::int64_t count)>;

  Weights(std::int64_t rows, std::int64_t columns, Rest rest, const Rows& w);
  Weights(const Eigen::MatrixXf& w, Rest rest);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return columns_; }
  Rest rest() const { return rest_; }
  /// Rows that the kernel takes at a time: those of one block of packed weights, the last one excepted.
  std::int64_t depth() const { return depth_; }
  /// The block of rows first .. first + depth - 1 as a right-hand side, `first` being a multiple of depth(),
  const float* columns(std::int64_t first) const { return by_columns_.data() + first * columns_; }
  /// and transposed, as a left-hand side, with zeros up to whole groups.
  const float* groups(std::int64_t first) const;

 private:
  std::int64_t rows_, columns_, height_, depth_;
  Rest rest_;
  Eigen::VectorXf by_columns_;
  mutable std::once_flag turned_;
  mutable Eigen::VectorXf by_groups_;  // made when it is first wanted
};

/// The better choice if each lane contributes this many rows to the product.
inline Weights::Rest rest_for(std::int64_t rows_of_a_lane) {
  return rows_of_a_lane >= 16 ? Weights::Rest::padded : Weights::Rest::turned;
}

/// Weights of a constant that programs share: forward and backward sweeps of a network use the same ones. make() packs them where
/// they are not there yet; `order` tells the packed forms of one tensor apart.
std::shared_ptr<const Weights> shared_weights(const std::shared_ptr<const Tensor>& constant, std::vector<std::int64_t> order,
                                              const std::function<std::shared_ptr<const Weights>()>& make);

/// Rows that are gathered for a product at once: as many as stay in the second-level cache, but enough for whole groups of any
/// kernel.
inline constexpr std::int64_t kGatherBytes = 192 << 10;
inline constexpr std::int64_t kLeastRows = 48;

/// out = bias + a w, with bias [n] (nullptr: zeros), a [rows, k] and out [rows, n] stored column by column, `a_stride` and
/// `out_stride` elements from column to column. Every row, which is a lane or a pixel of a lane, is summed in the same order
/// wherever it stands, so that results do not depend on how many lanes there are. `packed` is memory for operands in the order in
/// which the kernel reads them.
void multiply(std::int64_t rows, const float* a, std::int64_t a_stride, const Weights& w, const float* bias, float* out,
              std::int64_t out_stride, Stretch& packed);

}  // namespace probust::cpu
