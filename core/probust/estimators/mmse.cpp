// SPDX-License-Identifier: MIT
// mmse:N and mmse_mvs:N: margins and margin gradients averaged over N noisy copies (Han et al., Definition 3). The plain
// definition: the average of the margins keeps the term J mean(eps), so this is not exact on linear models.
#include "probust/estimators/common.h"

namespace probust {
namespace {

std::vector<Estimate> averaged(Evaluation& evaluation, const Noise& noise, double samples, NormalCdf cdf) {
  const auto count = static_cast<std::int64_t>(samples);
  const auto& linearizations = evaluation.averaged(noise, count);
  std::vector<Estimate> estimates;
  for (std::size_t i = 0; i < linearizations.size(); ++i) {
    estimates.push_back(
        from_linearization(evaluation.event(), linearizations[i], evaluation.points().target[i], noise.scale, cdf, count));
    estimates.back().forwards = count;
    estimates.back().backwards = count * (evaluation.executor().classes() - 1);
  }
  return estimates;
}

}  // namespace

std::vector<Estimate> estimate_mmse(Evaluation& evaluation, const Noise& noise, double samples) {
  return averaged(evaluation, noise, samples, NormalCdf::exact);
}

std::vector<Estimate> estimate_mmse_mvs(Evaluation& evaluation, const Noise& noise, double samples) {
  return averaged(evaluation, noise, samples, NormalCdf::mv_sigmoid);
}

}  // namespace probust
