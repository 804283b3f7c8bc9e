// SPDX-License-Identifier: MIT
// hoeffding:N, the share of N noisy samples with the interval of Hoeffding's inequality (1963), which is wider than that of
// mc:N.
#include <algorithm>
#include <cmath>

#include "probust/estimators/statistics/counts.h"

namespace probust {

std::vector<Estimate> estimate_hoeffding(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  const auto counts = count_placed(evaluation.executor(), evaluation.points(), noise, asked.samples, 1);
  const double half = std::sqrt(std::log(40.0) / (2 * static_cast<double>(asked.samples)));
  std::vector<Estimate> estimates;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int64_t kept = survivors_of(evaluation.event(), counts[i], evaluation.points().target[i]);
    const double p = static_cast<double>(kept) / static_cast<double>(asked.samples);
    estimates.push_back(from_counts(kept, asked.samples, {std::max(0.0, p - half), std::min(1.0, p + half)}));
  }
  return estimates;
}

}  // namespace probust
