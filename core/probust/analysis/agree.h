// SPDX-License-Identifier: MIT
//
// How closely estimators agree with each other and with the softmax probability, which is often mistaken for robustness.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probust/analysis/groups.h"
#include "probust/analysis/statistics.h"

namespace probust {

/// Two estimates of p at the same points, for one model and noise.
struct Comparison {
  std::string model, noise;
  std::optional<double> sigma{};
  std::string a, b;  ///< estimators; b may be kSoftmax
  Agreement p{};     ///< mean absolute error, bias, largest difference and correlations of a and b, over points with both
  /// The estimator that relative errors are relative to: the Monte Carlo estimator of the two (the one with more samples if both
  /// are), or `a` if neither is.
  std::string reference{};
  /// Means of |estimate - reference| / reference, of p and of p_fail, over points with a positive reference (Han et al., section
  /// 4). NaN without such points.
  double relative_p = 0, relative_fail = 0;
  std::vector<const Row*> points{};  ///< rows of `a` for points with both estimates, ordered by index; owned by the caller
  std::vector<double> p_a{}, p_b{};  ///< [points]
};

/// The name of the softmax probability of the target without noise, from recorded logits.
inline constexpr const char* kSoftmax = "softmax of the logits";

/// For each model and noise: every pair of estimators in order of first appearance; then, if logits are recorded, each
/// estimator with kSoftmax as `b`. Only points with both estimates count.
std::vector<Comparison> compare_estimators(const Results& results);

}  // namespace probust
