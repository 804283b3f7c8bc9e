// SPDX-License-Identifier: MIT
// mmse:N and mmse_mvs:N: margins and margin gradients averaged over N noisy samples (Han et al., Definition 3). The mean margin
// of this definition contains the term U mean(eps), so it is not exact on linear models.
//
// mmse:N:centered subtracts that term and is exact on linear models. But it uses the same samples for the gradients and for this
// term, which causes a bias on ReLU networks. mmse:N:loo subtracts U_-j eps_j instead, with the leave-one-out mean U_-j of the
// gradients.
#include <algorithm>

#include "probust/estimators/common.h"

namespace probust {
namespace {

// Subtracts `moved`, the linear effect of the noise on each sample's margins, from the linearization.
Linearization without(const Linearization& linearization, const Eigen::MatrixXd& moved) {
  Linearization result;
  result.gram = linearization.gram;
  result.last = linearization.last;
  result.target = linearization.target;
  result.margin_variances = linearization.margin_variances;
  result.sampled = linearization.sampled - moved;
  result.margins = result.sampled.rowwise().mean();
  return result;
}

Linearization centered(const Linearization& linearization) { return without(linearization, linearization.along_mean); }

Linearization left_out(const Linearization& linearization) {
  const auto n = static_cast<double>(linearization.sampled.cols());
  return without(linearization, (n * linearization.along_mean - linearization.along_own) / (n - 1));
}

using Repair = Linearization (*)(const Linearization&);

std::vector<Estimate> averaged(Evaluation& evaluation, const Noise& noise, std::int64_t count, NormalCdf cdf, Repair repair) {
  const std::int64_t backwards = count * evaluation.executor().backwards_to_linearize();
  return to_estimates(evaluation, over_samples(noise, count), noise.scale,
                      {.cdf = cdf, .samples = count, .repair = repair, .forwards = count, .backwards = backwards});
}

}  // namespace

std::vector<Estimate> estimate_mmse(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return averaged(evaluation, noise, asked.samples, NormalCdf::exact, nullptr);
}

std::vector<Estimate> estimate_mmse_centered(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return averaged(evaluation, noise, asked.samples, NormalCdf::exact, centered);
}

std::vector<Estimate> estimate_mmse_loo(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return averaged(evaluation, noise, asked.samples, NormalCdf::exact, left_out);
}

std::vector<Estimate> estimate_mmse_mvs(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return averaged(evaluation, noise, asked.samples, NormalCdf::mv_sigmoid, nullptr);
}

}  // namespace probust
