// SPDX-License-Identifier: MIT
#pragma once

#include "probust/estimators/common.h"

namespace probust {

/// p of a linearization with margins g and Gram matrix A = U C Uᵀ, and its derivatives: dp = by_marginsᵀ dg + tr(by_gram dA).
struct LinearizedP {
  double p = 0;                ///< NaN if it could not be computed; the derivatives are then NaN, too
  Eigen::VectorXd by_margins;  ///< [m]
  Eigen::MatrixXd by_gram;     ///< [m, m] symmetric
};

/// Differentiates from_linearization (common.h) for a linearization without `last`. p does not change, and the derivatives are
/// zero, if no margin changes with the noise.
LinearizedP differentiated(const Linearization& linearization, std::int64_t target, double sigma, NormalCdf cdf,
                           const std::atomic<bool>* stop);

}  // namespace probust
