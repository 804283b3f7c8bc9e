// SPDX-License-Identifier: MIT
//
// How nonlinear a classifier is at the scale of the noise: whether a linearisation can be trusted.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "probust/exec/executor.h"

namespace probust {

/// From antithetic pairs x +- eps. If a margin is linear, its even part e = (g(x + eps) + g(x - eps)) / 2 - g(x) is zero and its
/// odd part o is linear in eps. Both numbers are in units of the standard deviation of o; infinite if that is zero.
struct Curvature {
  Eigen::VectorXd shift;    ///< [m] mean of e: the average error of a linearisation at x; standard error scatter / sqrt(pairs)
  Eigen::VectorXd scatter;  ///< [m] standard deviation of e: what no linearisation captures
  double largest_shift = 0, largest_scatter = 0;  ///< over rivals; NaN if a margin is NaN
};

/// For each point, from `pairs` pairs (2 pairs + 1 forwards). Error{unsupported} if the noise cannot be mirrored,
/// Error{resources} if the margins of one point's pairs do not fit the executor's memory.
Result<std::vector<Curvature>> curvature(Executor& executor, const Points& points, const Noise& noise, std::int64_t pairs);

/// The ratios in the error bounds of Han et al. (propositions 3.2 and 3.4) for boundaries g(x) = xᵀA x + uᵀx + c at x. With
/// noise N(0, sigma² / d), the error of the Taylor estimator is at most k times the product over rivals of
/// sigma lambda_max(A) / |u|; for the MMSE estimator, replace lambda_max by lambda_max - lambda_mean. k is small and depends on
/// the problem.
struct QuadraticBound {
  Eigen::VectorXd lambda_max, lambda_mean, gradient_norm;  ///< [m]
  double taylor = 0, mmse = 0;                             ///< the products at k = 1, with sigma sqrt(d) for the paper's sigma
  bool defined = false;  ///< no A has a negative eigenvalue that was found, every A has some curvature, and u is not zero
};

/// By differences of gradients over a step of h times the norm of x (at least h): power iterations for the eigenvalues of
/// largest modulus (approached from below, so the ratios only estimate the bounds), random probes for the means. ReLU networks
/// have A = 0 almost everywhere: `defined` is then false.
Result<std::vector<QuadraticBound>> quadratic_bounds(Executor& executor, const Points& points, double sigma, double h = 1e-2,
                                                     int iterations = 12);

}  // namespace probust
