// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probust/estimators/estimator.h"

namespace probust {

/// One estimate = one row. The columns are a promise to scripts and pages.
struct Row {
  std::int64_t index;
  std::optional<std::int64_t> label;
  std::int64_t predicted, target;
  std::string noise;
  std::optional<double> sigma;
  std::string estimator;
  Estimate estimate;
};

/// The row of point i of `points`, whose logits are [N, C]: its status says "tie" where several logits are largest.
Row row_of(const Points& points, const Tensor& logits, std::int64_t i, const Noise& noise, std::string estimator,
           Estimate estimate);

/// The class of the largest logit, the lowest one on a tie; 0 where any is NaN, so that there is a target to answer for.
std::int64_t predicted_class(std::span<const float> logits);

/// The same for each row of logits [N, C].
std::vector<std::int64_t> predicted_classes(const Tensor& logits);

/// Points x [N, ...] that stand in the data from position `offset` on.
Points points_of(Tensor x, std::vector<std::int64_t> targets, std::int64_t offset, std::uint64_t seed);

}  // namespace probust
