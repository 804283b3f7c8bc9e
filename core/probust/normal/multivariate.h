// SPDX-License-Identifier: MIT
//
// The multivariate normal probability
//
//     p = P(X_1 <= z_1, ..., X_m <= z_m),   X ~ N(0, R),   R a correlation matrix of any rank,
//
// and its complement p_fail = 1 - p, each with an error. If failure is rare use p_fail: it is computed directly, and its relative
// accuracy does not depend on how small it is.
//
//     const std::vector<double> z = {1.2, 0.7, 2.0};
//     const Probability answer = mvn_cdf(z, R);
//     if (answer.status == Status::ok) use(answer.p, answer.error);
//
// The methods, from the simplest case to the general one; `method` names the one that gave the answer:
//
//   "trivial"      no finite limit, or one is -inf
//   "univariate"   one limit remains after +inf and duplicates are dropped
//   "bivariate"    two limits: Drezner and Wesolowsky 1990, Genz 2004
//   "trivariate"   three limits: a quadrature over the bivariate probability
//   "blocks"       variables in independent groups, each solved separately
//   "one-factor"   R_ij = a_i a_j: one quadrature for any m
//   "polygon"      R of rank two: a sum over the sides of a polygon, for any m (Owen 1956)
//   "directions"   a factor with few columns and very many limits: chi probabilities over directions (Deák 1980)
//   "telescoping"  rare failure: p_fail = sum_i P(X_i > z_i, X_j <= z_j for j < i), every term positive
//   "alore"        rare failure of very many variables: importance sampling of Owen, Maximov and Chertkov 2019
//   "controlled"   many limits: separation of variables with a one-factor neighbour as control variate
//   "separation"   separation of variables on a shifted lattice: Genz 1992, Genz and Kwong 2000 for singular R
//
// Limits so high that they hardly matter are dropped first; the reported error includes their possible effect.
//
// The call is a pure function: the same input and options give the same bits on one machine. It starts no threads, keeps no
// state, and does not throw.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "probust/base/linear_algebra.h"
#include "probust/normal/arena.h"

namespace probust::normal {

struct Options {
  double abs = 1e-4;       ///< goal: error <= abs
  double rel_q = 1e-2;     ///< goal: error_fail <= rel_q * p_fail
  std::uint64_t seed = 0;  ///< seed of the random shifts
  /// The number of integrand evaluations after which the status is `not_reached`. A first sample (about 64 evaluations per
  /// limit) is always taken. A mean over one lattice never uses more than 262,144. If one method has used up max_points, the next
  /// one may use as many again.
  std::int64_t max_points = 250000;
  const std::atomic<bool>* stop = nullptr;  ///< if set, ends a long calculation soon with the status `interrupted`
};

enum class Status {
  ok,
  not_reached,    ///< the numbers and errors are valid, but an error exceeds its goal
  size_mismatch,  ///< R is not m x m, or U does not have m rows
  nonfinite,      ///< a NaN in z, or a NaN or infinity in R or U
  bad_diagonal,   ///< a diagonal entry of R, or the length of a row of U, is not 1
  asymmetric,     ///< R differs from its transpose
  indefinite,     ///< R has a negative eigenvalue, so it is not a correlation matrix
  bad_options,    ///< a tolerance is not positive, or no points are allowed
  out_of_memory,
  interrupted,
};

/// A status in a few words.
std::string_view describe(Status status);

struct Probability {
  double p;                 ///< P(X <= z); NaN if the input was not valid
  double p_fail;            ///< 1 - p, computed directly
  double error;             ///< absolute error of p: an upper bound (for sampling methods, with high probability)
  double error_fail;        ///< absolute error of p_fail
  std::string_view method;  ///< one of the methods above; "none" if the input was not valid
  std::int64_t points;      ///< integrand evaluations
  Status status;

  /// Whether p and p_fail are numbers, possibly less accurate than requested.
  bool valid() const { return status == Status::ok || status == Status::not_reached; }
};

/// A matrix stored by columns: an Eigen::MatrixXd, a block of one, or an Eigen::Map of the caller's memory.
using Matrix = Eigen::Ref<const Eigen::MatrixXd>;

/// P(X <= z) for the correlation matrix R, which may be singular. Limits of +inf have no effect; any -inf gives p = 0; an empty z
/// gives p = 1. R must be symmetric with a unit diagonal and no negative eigenvalues, up to rounding (1e-8 per entry, 1e-9 m for
/// eigenvalues).
Probability mvn_cdf(std::span<const double> z, const Matrix& R, const Options& options = {});

/// P(X <= z) for R = U U^T with the m x d factor U, whose rows have length 1 (rows with rounding errors up to 1e-8 are
/// rescaled). Preferable if d is small: no eigenvalues need checking, and only the part of R that matters is computed.
Probability mvn_cdf_factor(std::span<const double> z, const Matrix& U, const Options& options = {});

/// mvn_cdf and mvn_cdf_factor for a thread with many problems. The results are the same, but memory is reused: once the largest
/// problem has been solved, nothing more is allocated. (Eigen itself allocates when it checks an R or multiplies a U of
/// several hundred rows.)
class Solver {
 public:
  Probability cdf(std::span<const double> z, const Matrix& R, const Options& options = {});
  Probability cdf_factor(std::span<const double> z, const Matrix& U, const Options& options = {});

 private:
  Arena arena_;
};

}  // namespace probust::normal
