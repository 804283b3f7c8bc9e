// SPDX-License-Identifier: MIT
// adf: the classifier linearised under the noise. The mean margins m_A come from Gaussian moment propagation (assumed density
// filtering); if the moments are right, their gradients J equal the gradients averaged over the noise. p is the normal
// probability of margins with mean m_A and covariance sigma^2 J C J^T: the Taylor estimator (Han et al., Definition 2) at the
// scale of the noise, without samples. The propagated variance of the margins is not used, because their correlations are not
// propagated.
#include "probust/estimators/common.h"

namespace probust {

std::vector<Estimate> estimate_adf(Evaluation& evaluation, const Noise& noise, const EstimatorSpec&) {
  const std::int64_t backwards = 2 * evaluation.executor().backwards_to_linearize();
  return to_estimates(evaluation, under_noise(noise), noise.scale,
                      {.forwards = 2, .backwards = backwards});  // one forward for the means and one for the variances
}

}  // namespace probust
