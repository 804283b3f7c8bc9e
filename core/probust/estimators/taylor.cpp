// SPDX-License-Identifier: MIT
// taylor and taylor_mvs: the classifier linearised at x (Han et al., Definition 2), and the same with the multivariate normal
// CDF replaced by the mv-sigmoid (section 3.2.3). One forward, C - 1 backwards.
#include "probust/estimators/common.h"

namespace probust {
namespace {

std::vector<Estimate> at_the_point(Evaluation& evaluation, const Noise& noise, NormalCdf cdf) {
  const auto& linearizations = evaluation.linearized(noise);
  std::vector<Estimate> estimates;
  for (std::size_t i = 0; i < linearizations.size(); ++i) {
    estimates.push_back(
        from_linearization(evaluation.event(), linearizations[i], evaluation.points().target[i], noise.scale, cdf, 0));
    estimates.back().forwards = 1;
    estimates.back().backwards = evaluation.executor().classes() - 1;
  }
  return estimates;
}

}  // namespace

std::vector<Estimate> estimate_taylor(Evaluation& evaluation, const Noise& noise, double) {
  return at_the_point(evaluation, noise, NormalCdf::exact);
}

std::vector<Estimate> estimate_taylor_mvs(Evaluation& evaluation, const Noise& noise, double) {
  return at_the_point(evaluation, noise, NormalCdf::mv_sigmoid);
}

}  // namespace probust
