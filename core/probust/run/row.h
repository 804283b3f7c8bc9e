// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probust/estimators/estimator.h"

namespace probust {

/// One row of output per estimate. Scripts and pages rely on the columns: do not change them.
struct Row {
  std::int64_t index;
  std::optional<std::int64_t> label;
  std::int64_t predicted, target;
  std::string noise;
  std::optional<double> sigma;
  std::string estimator;
  Estimate estimate;
  std::string model{};  ///< name of the model if a run has several; otherwise empty

  /// The estimator that produced the estimate: `estimator`, or the one that it picked.
  std::string method() const { return estimate.method ? estimate.method->text() : estimator; }
};

/// The row of point i of `points`, with `logits` [N, C]. For estimators that see failures only among noisy samples, p_fail is
/// bounded (bound_failure). If the point's label is the target, p_label is p. The status `ok` becomes `tie` if several logits are
/// equal to the largest.
Row row_of(const Points& points, const Tensor& logits, std::int64_t i, const Noise& noise, std::string estimator,
           Estimate estimate);

/// The class of the largest logit, the lowest index on a tie; 0 if any is NaN, so that there is always a target.
std::int64_t predicted_class(std::span<const float> logits);

/// predicted_class for each row of logits [N, C].
std::vector<std::int64_t> predicted_classes(const Tensor& logits);

/// Points::label from the given labels, which may be any numbers. A label that counts as the target, as defined by `event`,
/// becomes the target; a label that is not a class becomes -1.
std::vector<std::int64_t> asked_labels(std::span<const std::int64_t> labels, std::span<const std::int64_t> targets,
                                       const Event& event, std::int64_t classes);

/// Points x [N, ...] at positions `offset`, offset + 1, ... of the data.
Points points_of(Tensor x, std::vector<std::int64_t> targets, std::int64_t offset, std::uint64_t seed);

}  // namespace probust
