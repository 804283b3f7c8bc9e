// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probust/base/tensor.h"

namespace probust {

/// Points at which a classifier is evaluated, with the keys of their noise.
struct Points {
  Tensor x;                          ///< [N, ...] in the natural space
  std::vector<std::int64_t> index;   ///< [N] position in the data, part of the key of the noise
  std::vector<std::int64_t> target;  ///< [N] the class t that must survive
  std::uint64_t seed = 0;
  /// Empty, or [pairs][N] if points share draws of the noise: for each pair of noisy samples, the position that replaces
  /// `index` in the key. Used by Executor::pairs and Executor::project. Must be empty if the deviations of the noise differ from
  /// point to point, because devices differ in which point's deviations they use.
  std::vector<std::vector<std::int64_t>> draws{};
  /// Empty, or [N] a class per point (-1: none) whose probability estimators also compute, from the same passes
  /// (Estimate::p_label).
  std::vector<std::int64_t> label{};

  std::int64_t size() const { return static_cast<std::int64_t>(index.size()); }
  /// The label of point i; -1 if there is none.
  std::int64_t label_of(std::int64_t i) const { return label.empty() ? -1 : label[static_cast<std::size_t>(i)]; }
};

/// Throws Error{usage} unless x, index, target, the labels (if any) and the draws of each pair have the same length.
void require_equal_lengths(const Points& points);

/// Points first .. first + count - 1. Throws like require_equal_lengths.
Points slice(const Points& points, std::int64_t first, std::int64_t count);

/// The points at positions `which`, in that order. Throws like require_equal_lengths.
Points select(const Points& points, std::span<const std::int64_t> which);

}  // namespace probust
