// SPDX-License-Identifier: MIT
// mc:N, the share of N noisy samples that keep the prediction (Han et al., section 3.1), with its binomial standard error and
// the Clopper-Pearson interval. A sample with NaN logits counts as a failure.
#include "probust/estimators/common.h"
#include "probust/estimators/statistics/binomial.h"
#include "probust/estimators/statistics/counts.h"

namespace probust {

std::vector<Estimate> estimate_monte_carlo(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  const std::int64_t trials = asked.samples;
  const Event& event = evaluation.event();
  const auto counts = count_placed(evaluation.executor(), evaluation.points(), noise, trials, event.top);
  std::vector<Estimate> estimates;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int64_t survivors = survivors_of(event, counts[i], evaluation.points().target[i]);
    Estimate estimate = from_counts(survivors, trials, clopper_pearson(survivors, trials));
    if (const std::int64_t label = other_label(evaluation.points(), static_cast<std::int64_t>(i)); label >= 0) {
      const std::int64_t given = survivors_of(event, counts[i], label);
      estimate.set_label(from_counts(given, trials, clopper_pearson(given, trials)));
    }
    if (event.per_class) {
      for (const std::int64_t count : counts[i])
        estimate.classes.push_back(static_cast<double>(count) / static_cast<double>(trials));
    }
    estimates.push_back(estimate);
  }
  return estimates;
}

}  // namespace probust
