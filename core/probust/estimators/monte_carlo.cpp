// SPDX-License-Identifier: MIT
// mc:N, the share of N noisy copies that keep the answer (Han et al., section 3.1), with its binomial standard error and the
// Clopper-Pearson interval. A copy whose logits are NaN has not kept it.
#include <cmath>

#include "probust/estimators/binomial.h"
#include "probust/estimators/common.h"

namespace probust {

std::vector<Estimate> estimate_monte_carlo(Evaluation& evaluation, const Noise& noise, double samples) {
  const auto trials = static_cast<std::int64_t>(samples);
  const auto counts = evaluation.executor().sample(evaluation.points(), noise, trials).value();
  std::vector<Estimate> estimates;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int64_t target = evaluation.points().target[i];
    std::int64_t kept = 0;
    Estimate estimate;
    for (std::int64_t c = 0; c < static_cast<std::int64_t>(counts[i].size()); ++c) {
      kept += evaluation.event().same_group(c, target) ? counts[i][c] : 0;
      if (evaluation.event().per_class) estimate.classes.push_back(static_cast<double>(counts[i][c]) / samples);
    }
    estimate.p = static_cast<double>(kept) / samples;
    estimate.p_fail = static_cast<double>(trials - kept) / samples;
    estimate.std_error = std::sqrt(estimate.p * estimate.p_fail / samples);
    const Interval interval = clopper_pearson(kept, trials);
    estimate.ci_low = interval.low;
    estimate.ci_high = interval.high;
    estimate.forwards = trials;
    estimates.push_back(estimate);
  }
  return estimates;
}

}  // namespace probust
