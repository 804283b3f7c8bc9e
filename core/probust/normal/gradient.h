// SPDX-License-Identifier: MIT
//
// How the multivariate normal probability p = P(X <= z), X ~ N(0, R), changes with its limits and correlations:
//
//     dp = sum_i dz_i d(z_i) + sum_{i<j} dR_ij d(R_ij),     d(p_fail) = -dp.
//
// Each derivative is a density times a smaller probability of the same kind, so all of them are at least zero.
#pragma once

#include <Eigen/Core>
#include <span>

#include "probust/normal/multivariate.h"

namespace probust::normal {

struct MvnGradient {
  Probability value;         ///< p itself, as mvn_cdf gives it
  Eigen::VectorXd dz;        ///< dp / dz_i, size m
  Eigen::VectorXd dz_error;  ///< absolute, as Probability::error
  Eigen::MatrixXd dR;  ///< dp / dR_ij, m x m, symmetric, zero diagonal; R_ij and R_ji move together. Empty where not asked for
  Eigen::MatrixXd dR_error;
  Status status;  ///< of all of them; where it leaves no numbers, every entry above is NaN

  bool valid() const { return status == Status::ok || status == Status::not_reached; }
};

/// p, dp/dz and dp/dR for limits `z` (m) and the correlation matrix `R` (m x m), under the conditions of mvn_cdf. It solves
/// m + m (m - 1) / 2 smaller problems beside p. Of a derivative, a density times a probability, is wanted: error <= abs, and
/// error <= rel_q times the density. So derivatives keep their relative accuracy where p_fail is small, however small they are.
///
/// Defined answers: an infinite limit has derivatives 0, and so does everything once a limit is -inf. Given X_i, a variable whose
/// correlation with it is 1 or -1 up to rounding (4e-15) is a number: it meets its limit or not, with certainty. In a tie it
/// does; but of equal variables with equal limits, where p has a kink, the first has the derivative of all and the others none.
/// dR_ij of such a pair is 0, or +inf in a tie (p has a vertical tangent there), unless the other limits forbid it. Where R is
/// singular, dR is the derivative along directions in which R stays a correlation matrix.
MvnGradient mvn_gradient(std::span<const double> z, const Eigen::MatrixXd& R, const Options& options = {});

/// p and dp/dz alone, at the cost of m smaller problems; dR and dR_error stay empty.
MvnGradient mvn_gradient_z(std::span<const double> z, const Eigen::MatrixXd& R, const Options& options = {});

}  // namespace probust::normal
