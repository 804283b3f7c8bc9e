// SPDX-License-Identifier: MIT
// mmse:N and mmse_mvs:N: margins and margin gradients averaged over N noisy copies (Han et al., Definition 3). The plain
// definition: the average of the margins keeps the term U mean(eps), so this is not exact on linear models.
//
// mmse:N:centered takes that term off, and is exact there. But the same copies then fit the gradients and are judged by them,
// which biases networks of ReLUs; mmse:N:loo takes off U_-j eps_j, with the gradients averaged over the other copies.
#include <algorithm>

#include "probust/estimators/common.h"

namespace probust {
namespace {

using Repair = Eigen::MatrixXd (*)(const Linearization&);

Eigen::MatrixXd centered(const Linearization& linearization) { return linearization.along_mean; }

Eigen::MatrixXd left_out(const Linearization& linearization) {
  const auto n = static_cast<double>(linearization.sampled.cols());
  return (n * linearization.along_mean - linearization.along_own) / (n - 1);
}

// The linearization whose margins are those of the copies without what the noise moved them along the gradients.
Linearization repaired(Linearization linearization, Repair repair) {
  const Eigen::MatrixXd rest = linearization.sampled - repair(linearization);
  linearization.margins = rest.rowwise().mean();
  const Eigen::MatrixXd scatter = rest.colwise() - linearization.margins;
  linearization.sample_covariance = scatter * scatter.transpose() / std::max(1.0, static_cast<double>(rest.cols() - 1));
  return linearization;
}

std::vector<Estimate> averaged(Evaluation& evaluation, const Noise& noise, double samples, NormalCdf cdf, Repair repair) {
  const auto count = static_cast<std::int64_t>(samples);
  const auto& linearizations = evaluation.averaged(noise, count);
  std::vector<Estimate> estimates;
  for (std::size_t i = 0; i < linearizations.size(); ++i) {
    const Linearization& plain = linearizations[i];
    estimates.push_back(from_linearization(evaluation.event(), repair == nullptr ? plain : repaired(plain, repair),
                                           evaluation.points().target[i], noise.scale, cdf, count));
    estimates.back().forwards = count;
    estimates.back().backwards = count * (evaluation.executor().classes() - 1);
  }
  return estimates;
}

}  // namespace

std::vector<Estimate> estimate_mmse(Evaluation& evaluation, const Noise& noise, double samples) {
  return averaged(evaluation, noise, samples, NormalCdf::exact, nullptr);
}

std::vector<Estimate> estimate_mmse_centered(Evaluation& evaluation, const Noise& noise, double samples) {
  return averaged(evaluation, noise, samples, NormalCdf::exact, centered);
}

std::vector<Estimate> estimate_mmse_loo(Evaluation& evaluation, const Noise& noise, double samples) {
  return averaged(evaluation, noise, samples, NormalCdf::exact, left_out);
}

std::vector<Estimate> estimate_mmse_mvs(Evaluation& evaluation, const Noise& noise, double samples) {
  return averaged(evaluation, noise, samples, NormalCdf::mv_sigmoid, nullptr);
}

}  // namespace probust
