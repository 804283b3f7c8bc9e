// SPDX-License-Identifier: MIT
//
// How far estimators agree, and how far the softmax probability, which is often taken for robustness, agrees with them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probust/analysis/groups.h"
#include "probust/analysis/statistics.h"

namespace probust {

/// Two estimates of p of the same points, for one model and noise.
struct Comparison {
  std::string model, noise;
  std::optional<double> sigma{};
  std::string a, b;  ///< estimators; b may be kSoftmax
  Agreement p{};     ///< mae, bias and largest difference of a - b, correlations, over the points that both answer
  /// Means of |a - b| / max(a, b): 0 if both are equal, 1 if one is zero. NaN without points.
  double relative_p = 0, relative_fail = 0;
  std::vector<const Row*> points{};  ///< those that both answer, by index: a's rows; the caller's
  std::vector<double> p_a{}, p_b{};  ///< [points]
};

/// Stands for the softmax probability of the target without noise, from the logits of recorded points.
inline constexpr const char* kSoftmax = "softmax of the logits";

/// For each model and noise: every pair of estimators in order of first appearance, and then each estimator with kSoftmax as `b`,
/// if points have logits. Points that both do not answer are left out.
std::vector<Comparison> compare_estimators(const Results& results);

}  // namespace probust
