// SPDX-License-Identifier: MIT
//
// The gradient of p with respect to the point: in which direction robustness grows, and which elements matter for it.
#pragma once

#include <string>
#include <vector>

#include "probust/estimators/estimator.h"

namespace probust {

/// The gradients of p at points x [N, ...].
struct GradientOfP {
  Tensor gradient;        ///< [N, ...] dp/dx; NaN for a point whose p could not be computed
  Tensor std_error;       ///< [N, ...] standard errors; empty if the gradient is not estimated from noisy samples (mc)
  std::vector<double> p;  ///< [N] p of the same estimator
  std::vector<std::string> warnings;  ///< what all gradients ignore, and points without a gradient
};

/// The derivative of the p of an estimator with respect to each element of each point; the target and the noise do not change
/// with the point.
///
/// taylor, taylor_mvs, mmse, mmse_mvs and adf: the exact derivative of their own p, mmse for fixed noise. It needs second
/// derivatives of the margins, which are zero for piecewise linear classifiers (except under adf). mc: an unbiased estimate of
/// the derivative of the true p, from N / 2 antithetic pairs.
///
/// Error{usage} if the estimator has no gradient or a point contains NaN or infinity; Error{unsupported} if the classifier has no
/// graph or is piecewise constant, or the noise does not suit the estimator.
Result<GradientOfP> gradient_of_p(Executor& executor, const Points& points, const Noise& noise, const EstimatorSpec& estimator);

}  // namespace probust
