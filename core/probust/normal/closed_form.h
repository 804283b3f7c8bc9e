// SPDX-License-Identifier: MIT
//
// Approximations to the multivariate normal probability p = P(X <= z), X ~ N(0, R), that cost microseconds and have smooth
// derivatives. None of them is exact; for p itself use multivariate.h. From the crudest to the best:
//
//   independent_product     ignores correlation
//   union_bound             a rigorous bound, close if failure is rare and failures seldom coincide
//   one_factor_probability  exact for R_ij = a_i a_j off the diagonal
//   second_order            the one-factor fit with first- and second-order corrections for the residual; says when to trust it
//
// In all of them a limit of +inf has no effect, any -inf gives p = 0, an empty z gives p = 1, and p_fail = 1 - p is computed
// directly.
#pragma once

#include <Eigen/Core>
#include <span>

#include "probust/normal/multivariate.h"

namespace probust::normal {

struct ClosedForm {
  double p, p_fail;  ///< NaN if the status is not ok
  Status status;
};

/// prod_i P(X_i <= z_i). A lower bound of p if all correlations are >= 0 (Slepian).
ClosedForm independent_product(std::span<const double> z);

/// p_fail = min(1, sum_i P(X_i > z_i)), an upper bound of the true one for any R, and p = 1 - p_fail (Bonferroni).
ClosedForm union_bound(std::span<const double> z);

struct OneFactorFit {
  Eigen::VectorXd loading;  ///< a, size m, within +-0.999
  double residual_max;      ///< max |R_ij - a_i a_j| over i < j
  double residual_rms;      ///< root mean square of R_ij - a_i a_j over i < j; 0 for m < 2
  Status status;            ///< conditions on R as for mvn_cdf; if not ok, the numbers are NaN
};

/// The loadings that minimise the sum of (R_ij - a_i a_j)^2 over i < j: a local minimum, started from the leading eigenvector.
OneFactorFit one_factor_fit(const Eigen::MatrixXd& R);

/// P(X_i <= z_i for all i) for X_i = a_i T + sqrt(1 - a_i^2) e_i with independent standard normal T and e_i. `loading` (m) is
/// clamped to [-0.999, 0.999]. The error is about 1e-12 p_fail; for many equal loadings near 1 it grows, to 1e-7 p_fail at m = 99
/// and 1e-6 p_fail at m = 999.
ClosedForm one_factor_probability(std::span<const double> z, const Eigen::VectorXd& loading);

struct SecondOrder {
  double p, p_fail;      ///< within [0, 1]; NaN if the status says that there are no numbers
  double first, second;  ///< the corrections to p for the residual of the fit, by order
  double error;          ///< estimate (not a bound) of the error of p and p_fail
  bool trusted;          ///< error <= 1e-3 and error <= 0.05 p_fail
  Status status;         ///< ok, or the condition on z and R (as for mvn_cdf) that does not hold
};

/// One-factor fit with first and second order corrections in the residual R - a a^T.
///
/// Measured against mvn_cdf (tolerance 1e-5) on 1500 random problems, m = 3 to 99: margins of networks in many and in few
/// dimensions, chains with R_ij = rho^|i-j|, few factors with noise, noisy covariances; limits from 0 to 5 standard deviations.
/// `error` covered the true error in 99.8% and was never too small by more than a tenth. 53% were trusted: their mean error was
/// 4e-5, the worst 6e-4, and at most 3.3% of p_fail. Of margins in many dimensions (30 m) 98% were trusted, mean error 2e-5. Over
/// all 1500, trusted or not, the mean error was 1.1e-3 and the worst 0.12, for 99 variables driven by two to seven factors.
SecondOrder second_order(std::span<const double> z, const Eigen::MatrixXd& R);

/// The same for given loadings (m, clamped to [-0.999, 0.999]), such as those of one_factor_fit.
SecondOrder second_order(std::span<const double> z, const Eigen::MatrixXd& R, const Eigen::VectorXd& loading);

struct SecondOrderGradient {
  SecondOrder value;
  Eigen::VectorXd dz;  ///< dp / dz_i, size m
  Eigen::MatrixXd dR;  ///< dp / dR_ij, m x m, symmetric, zero diagonal; R_ij and R_ji move together
};

/// Derivatives of second_order at fixed loadings, before p is clamped to [0, 1]. They are exact for z, because the fit does not
/// depend on z. For R they ignore that the fit depends on R, which matters only through the terms that p neglects; as derivatives
/// of the true p they are correct to first order in the residual. An infinite limit has derivatives 0; if any limit is -inf, all
/// derivatives are 0. If the status says that there are no numbers, all entries are NaN.
SecondOrderGradient second_order_gradient(std::span<const double> z, const Eigen::MatrixXd& R);
SecondOrderGradient second_order_gradient(std::span<const double> z, const Eigen::MatrixXd& R, const Eigen::VectorXd& loading);

}  // namespace probust::normal
