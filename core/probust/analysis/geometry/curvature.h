// SPDX-License-Identifier: MIT
//
// How nonlinear a classifier is at the scale of the noise, which shows whether a linearisation is accurate enough.
#pragma once

#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/exec/executor.h"

namespace probust {

/// Computed from antithetic pairs x +- eps. If a margin is linear, its even part e = (g(x + eps) + g(x - eps)) / 2 -
/// g(x) is zero and its odd part o is linear in eps. `shift` and `scatter` are in units of the standard deviation of o,
/// and infinite if that is zero.
struct Curvature {
  Eigen::VectorXd shift;    ///< [m] mean of e: the average error of a linearisation at x; standard error scatter / sqrt(pairs)
  Eigen::VectorXd scatter;  ///< [m] standard deviation of e, which no linearisation captures
  double largest_shift = 0, largest_scatter = 0;  ///< largest absolute values over rivals; NaN if a margin is NaN
};

/// Curvatures of each point, from `pairs` pairs (2 pairs + 1 forwards). Error{unsupported} if the noise cannot be mirrored,
/// Error{resources} if the margins of one point's pairs do not fit the executor's memory.
Result<std::vector<Curvature>> curvature(Executor& executor, const Points& points, const Noise& noise, std::int64_t pairs);

/// The ratios in the error bounds of Han et al. (propositions 1 and 2 of the UAI paper, 3.2 and 3.4 of the preprint) for
/// boundaries g(x) = xᵀA x + uᵀx + c at x. With noise N(0, sigma² / d), the error of the Taylor estimator is said to be at most k
/// times the product over rivals of sigma lambda_max(A) / |u|; for the MMSE estimator, replace lambda_max by lambda_max -
/// lambda_mean.
///
/// The proof bounds the probability that any margin changes sign by an integral over the noise that changes the signs of
/// all of them, and divides by the norm of the noise instead of the standard deviation of uᵀ eps, which is smaller by
/// sqrt(d). So the product is not a bound, not even for one rival. `summed` is the bound that the same argument gives with
/// Boole's inequality and this standard deviation.
struct QuadraticBound {
  Eigen::VectorXd lambda_max, lambda_mean, gradient_norm;  ///< [m]
  double taylor = 0, mmse = 0;                             ///< the products at k = 1, with sigma sqrt(d) for the paper's sigma
  double k = 0;  ///< the paper's constant (2 pi)^(-m/2) det(R)^(-1/2), R the correlations of the gradients; infinite if singular
  /// The sum over rivals of sigma d |lambda_max| / (sqrt(2 pi) |u|), at most 1, for the Taylor estimator and eigenvalues of any
  /// sign. Assumes that boundaries are quadratic and |eps|² is close to its mean, as for large d.
  double summed = 0;
  /// Whether no A has a negative eigenvalue, every lambda_max is positive, and no u is zero.
  bool defined = false;
  /// Whether every lambda_max is within 0.1% of an eigenvalue (or as close as rounding permits). If not, it may be too small.
  bool converged = true;
};

/// Computed from differences of gradients over a step of h times the norm of x (at least h): Lanczos iterations for the
/// eigenvalues of largest modulus, with at most `products` products per rival (of two Jacobians each), and random probes for the
/// means. ReLU networks have A = 0 almost everywhere, so `defined` is false.
Result<std::vector<QuadraticBound>> quadratic_bounds(Executor& executor, const Points& points, double sigma, double h = 1e-2,
                                                     std::int64_t products = 100);

}  // namespace probust
