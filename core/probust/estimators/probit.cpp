// SPDX-License-Identifier: MIT
// probit:N, the normal probability of margins whose mean and covariance are taken from N noisy copies in antithetic pairs: no
// gradients, any black box. Against the counts of the same copies it gives up freedom from bias for a fraction of the variance.
#include <algorithm>

#include "probust/base/parallel.h"
#include "probust/estimators/common.h"
#include "probust/estimators/pairs.h"

namespace probust {
namespace {

Estimate probit(const Pairs& pairs, std::int64_t target) {
  Estimate estimate = from_linearization(PairMoments(pairs, 0, 1).normal(), target, 1, NormalCdf::exact, 0);
  const Eigen::MatrixXd nothing = Eigen::MatrixXd::Zero(pairs.rivals(), pairs.rivals());
  judge(estimate, pairs, nothing, count_kept(pairs, target), target, 1);
  estimate.forwards = 2 * pairs.size();
  return estimate;
}

}  // namespace

std::vector<Estimate> estimate_probit(Evaluation& evaluation, const Noise& noise, double samples) {
  Executor& executor = evaluation.executor();
  const Points& points = evaluation.points();
  const std::int64_t pairs = static_cast<std::int64_t>(samples) / 2;
  const std::int64_t step = points_at_once(executor, 32 * pairs * executor.classes());
  std::vector<Estimate> estimates(static_cast<std::size_t>(points.size()));
  for (std::int64_t first = 0; first < points.size(); first += step) {
    const Points part = slice(points, first, std::min(step, points.size() - first));
    const std::vector<Pairs> sampled = sample_pairs(executor, part, noise, pairs);
    parallel_for(part.size(), executor.options().threads,
                 [&](std::int64_t i, int) { estimates[first + i] = probit(sampled[i], part.target[i]); });
  }
  return estimates;
}

}  // namespace probust
