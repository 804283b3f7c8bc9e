// SPDX-License-Identifier: MIT
//
// The order in which variables are integrated: the most restrictive first (Gibson, Glasbey and Elston, "Monte Carlo evaluation
// of multivariate normal integrals and sensitivity to variate ordering", 1994).
#pragma once

#include <span>

#include "probust/base/linear_algebra.h"
#include "probust/normal/factor.h"

namespace probust::normal {

/// The mean of a standard normal variable truncated to (lo, hi).
double confined_mean(double lo, double hi);

/// The open variable with the smallest conditional probability; -1 if none is open. `slack` has, for each variable, its limit
/// minus the contributions of the earlier variables at their conditional means.
Eigen::Index most_binding(const GrowingCholesky& cholesky, std::span<const double> slack);

/// Subtracts from `slack` the contribution of a column's variable at its conditional mean.
void settle(const GrowingCholesky& cholesky, Eigen::Index column, double mean, std::span<double> slack);

}  // namespace probust::normal
