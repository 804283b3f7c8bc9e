// SPDX-License-Identifier: MIT
//
// In which order variables are integrated: what binds most comes first (Gibson, Glasbey and Elston, "Monte Carlo evaluation of
// multivariate normal integrals and sensitivity to variate ordering", 1994).
#pragma once

#include <Eigen/Core>
#include <span>

#include "probust/normal/factor.h"

namespace probust::normal {

/// The mean of a standard normal variable confined to (lo, hi).
double confined_mean(double lo, double hi);

/// The open variable of least conditional probability, -1 where none is open. `slack`: what the earlier variables, at their
/// conditional means, leave of each limit.
Eigen::Index most_binding(const GrowingCholesky& cholesky, std::span<const double> slack);

/// Takes from `slack` what the variable of a column, at its conditional mean, takes.
void settle(const GrowingCholesky& cholesky, Eigen::Index column, double mean, std::span<double> slack);

}  // namespace probust::normal
