// SPDX-License-Identifier: MIT
// adf: the classifier linearised under the noise. Its mean margins m_A by Gaussian moment propagation (assumed density
// filtering), and their gradients J, which are the mean gradients over the noise as far as the moments hold: p = Phi of m_A at
// covariance sigma^2 J C J^T. As Taylor's estimator (Han et al., Definition 2), at the scale of the noise; not one sample. The
// propagated variance of the margins is not used: it lacks their correlations.
#include "probust/estimators/common.h"

namespace probust {

std::vector<Estimate> estimate_adf(Evaluation& evaluation, const Noise& noise, double) {
  const std::int64_t backwards = 2 * evaluation.executor().backwards_to_linearize();
  return read(evaluation, under_noise(noise), noise.scale, {.forwards = 2, .backwards = backwards});  // means and variances
}

}  // namespace probust
