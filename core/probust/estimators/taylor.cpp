// SPDX-License-Identifier: MIT
// taylor: the classifier linearised at x (Han et al., Definition 2). taylor_mvs: the same with the mv-sigmoid in place of the
// multivariate normal CDF (section 3.2.3). Both take one forward and C - 1 backwards.
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
