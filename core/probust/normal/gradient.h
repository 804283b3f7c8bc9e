// SPDX-License-Identifier: MIT
//
// Derivatives of the multivariate normal probability p = P(X <= z), X ~ N(0, R), with respect to limits and correlations:
//
//     dp = sum_i dz_i d(z_i) + sum_{i<j} dR_ij d(R_ij),     d(p_fail) = -dp.
//
// Each derivative is a density times a smaller probability of the same kind, so none is negative.
#pragma once

#include <span>

#include "probust/base/linear_algebra.h"
#include "probust/normal/multivariate.h"

namespace probust::normal {

struct MvnGradient {
  Probability value;         ///< p, as from mvn_cdf
  Eigen::VectorXd dz;        ///< dp / dz_i, size m
  Eigen::VectorXd dz_error;  ///< absolute errors, as in Probability::error
  Eigen::MatrixXd dR;        ///< dp / dR_ij, m x m, symmetric, zero diagonal; R_ij and R_ji move together. Empty if not requested
  Eigen::MatrixXd dR_error;
  Status status;  ///< the worst status of all results; if it means that there are no numbers, every entry above is NaN

  bool valid() const { return status == Status::ok || status == Status::not_reached; }
};

/// p, dp/dz and dp/dR for limits `z` (m) and the correlation matrix `R` (m x m), under the conditions of mvn_cdf. Besides p, this
/// solves m + m (m - 1) / 2 smaller problems. A derivative is a density times a probability; its error is to be at most `abs`,
/// and at most rel_q times the density. So if p_fail is small, derivatives keep their relative accuracy, however small they are.
///
/// Defined answers: an infinite limit has derivatives 0; if any limit is -inf, all derivatives are 0. A variable whose
/// correlation with X_i is 1 or -1 up to rounding (4e-15) is a constant given X_i: it is either within its limit or not. In a
/// tie, it is within; but among equal variables with equal limits, where p has a kink, the first one gets the whole derivative,
/// and the others get 0. For such a pair, dR_ij is 0, or +inf in a tie (p has a vertical tangent there), unless the other limits
/// rule it out. If R is singular, dR is the derivative along directions in which R stays a correlation matrix.
MvnGradient mvn_gradient(std::span<const double> z, const Eigen::MatrixXd& R, const Options& options = {});

/// Computes only p and dp/dz, at the cost of m smaller problems; dR and dR_error stay empty.
MvnGradient mvn_gradient_z(std::span<const double> z, const Eigen::MatrixXd& R, const Options& options = {});

}  // namespace probust::normal
