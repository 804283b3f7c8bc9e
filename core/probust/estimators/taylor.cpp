// SPDX-License-Identifier: MIT
// taylor and taylor_mvs: the classifier linearised at x (Han et al., Definition 2), and the same with the multivariate normal
// CDF replaced by the mv-sigmoid (section 3.2.3). One forward, C - 1 backwards.
#include "probust/estimators/common.h"

namespace probust {
namespace {

std::vector<Estimate> at_the_point(Evaluation& evaluation, const Noise& noise, NormalCdf cdf) {
  const std::int64_t backwards = evaluation.executor().backwards_to_linearize();
  return to_estimates(evaluation, at_points(noise), noise.scale, {.cdf = cdf, .forwards = 1, .backwards = backwards});
}

}  // namespace

std::vector<Estimate> estimate_taylor(Evaluation& evaluation, const Noise& noise, const EstimatorSpec&) {
  return at_the_point(evaluation, noise, NormalCdf::exact);
}

std::vector<Estimate> estimate_taylor_mvs(Evaluation& evaluation, const Noise& noise, const EstimatorSpec&) {
  return at_the_point(evaluation, noise, NormalCdf::mv_sigmoid);
}

}  // namespace probust
