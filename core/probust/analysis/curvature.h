// SPDX-License-Identifier: MIT
//
// How far a classifier is from linear at the scale of the noise: whether a linearisation can be trusted.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "probust/exec/executor.h"

namespace probust {

/// From antithetic pairs x +- eps: the even part e = (g(x + eps) + g(x - eps)) / 2 - g(x) of a margin is zero, and the odd part o
/// linear in eps, where the margin is linear. Both in units of the standard deviation of o; infinite where o is zero.
struct Curvature {
  Eigen::VectorXd shift;  ///< [m] mean of e: what a linearisation at x misses on average; its own error is scatter / sqrt(pairs)
  Eigen::VectorXd scatter;                        ///< [m] standard deviation of e: what no linearisation has
  double largest_shift = 0, largest_scatter = 0;  ///< over rivals; NaN where a margin is
};

/// For each point, from `pairs` pairs (2 pairs + 1 forwards). Error{unsupported} where the noise cannot be mirrored,
/// Error{resources} where the margins of one point's pairs do not fit the executor's memory.
Result<std::vector<Curvature>> curvature(Executor& executor, const Points& points, const Noise& noise, std::int64_t pairs);

/// The ratios in the error bounds of Han et al. (propositions 3.2 and 3.4) for boundaries g(x) = xᵀA x + uᵀx + c at x: with
/// noise N(0, sigma² / d), the Taylor estimator errs by at most k times the product over rivals of sigma lambda_max(A) / |u|,
/// the MMSE estimator with lambda_max - lambda_mean in its place; k is small and depends on the problem.
struct QuadraticBound {
  Eigen::VectorXd lambda_max, lambda_mean, gradient_norm;  ///< [m]
  double taylor = 0, mmse = 0;                             ///< the products at k = 1, with sigma sqrt(d) for the paper's sigma
  bool defined = false;  ///< every A has no negative eigenvalue (as far as the search saw), some curvature, and u is not zero
};

/// By differences of gradients over a step of h times the norm of x (at least h): power iterations for the eigenvalues of
/// largest modulus (from below: the ratios are estimates of bounds), random probes for the means. Networks of ReLUs have A = 0
/// almost everywhere: not defined, as `defined` says.
Result<std::vector<QuadraticBound>> quadratic_bounds(Executor& executor, const Points& points, double sigma, double h = 1e-2,
                                                     int iterations = 12);

}  // namespace probust
