// SPDX-License-Identifier: MIT
//
// The multivariate normal probability
//
//     p = P(X_1 <= z_1, ..., X_m <= z_m),   X ~ N(0, R),   R a correlation matrix of any rank,
//
// and its complement p_fail = 1 - p, each with an error. Ask for p_fail where failure is rare: it is computed as such, and its
// relative accuracy does not depend on how small it is.
//
//     const std::vector<double> z = {1.2, 0.7, 2.0};
//     const Probability answer = mvn_cdf(z, R);
//     if (answer.status == Status::ok) use(answer.p, answer.error);
//
// What is done, from the simplest case to the general one; `method` names the step that gave the answer:
//
//   "trivial"      no limit is left, or one is -inf
//   "univariate"   one limit, after +inf and duplicates are dropped
//   "bivariate"    two: Drezner and Wesolowsky 1990, Genz 2004
//   "trivariate"   three: a quadrature over the bivariate probability
//   "blocks"       variables that fall into independent groups, each solved on its own
//   "one-factor"   R_ij = a_i a_j: one quadrature for any m
//   "polygon"      R of rank two: a sum over the sides of a polygon, for any m (Owen 1956)
//   "directions"   a factor of few columns and very many limits: chi probabilities over directions (Deák 1980)
//   "telescoping"  rare failure: p_fail = sum_i P(X_i > z_i, X_j <= z_j for j < i), every term positive
//   "alore"        rare failure of very many: importance sampling of Owen, Maximov and Chertkov 2019
//   "controlled"   many limits: separation of variables with a one-factor neighbour as control variate
//   "separation"   separation of variables on a shifted lattice: Genz 1992, Genz and Kwong 2000 for singular R
//
// Limits so high that they hardly matter are dropped first, and what they could change is part of the reported error.
//
// The call is a pure function: equal input and options give equal bits on one machine. It starts no threads, keeps no state, and
// does not throw.
#pragma once

#include <Eigen/Core>
#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "probust/normal/arena.h"

namespace probust::normal {

struct Options {
  double abs = 1e-4;       ///< wanted: error <= abs
  double rel_q = 1e-2;     ///< and wanted: error_fail <= rel_q * p_fail
  std::uint64_t seed = 0;  ///< of the random shifts
  /// Integrand evaluations after which `not_reached` is the honest answer. A first look (some 64 for each limit) is always taken;
  /// no mean over one lattice exceeds 262,144, and where one method has used them up another may take as many.
  std::int64_t max_points = 250000;
  const std::atomic<bool>* stop = nullptr;  ///< set by others, it ends a long calculation soon with the status `interrupted`
};

enum class Status {
  ok,
  not_reached,    ///< the numbers and errors stand, but an error exceeds what was asked for
  size_mismatch,  ///< R is not m x m, or U has not m rows
  nonfinite,      ///< a NaN in z, or a NaN or infinity in R or U
  bad_diagonal,   ///< a diagonal entry of R, or the length of a row of U, is not 1
  asymmetric,     ///< R differs from its transpose
  indefinite,     ///< R has a negative eigenvalue: it is no correlation matrix
  bad_options,    ///< a tolerance that is not positive, or no points allowed
  out_of_memory,
  interrupted,
};

/// What a status means, in a few words.
std::string_view describe(Status status);

struct Probability {
  double p;                 ///< P(X <= z); NaN where the input was not valid
  double p_fail;            ///< 1 - p, computed as such
  double error;             ///< of p, absolute: the true error is below it (for sampling methods, with high probability)
  double error_fail;        ///< of p_fail, absolute
  std::string_view method;  ///< see above; "none" where the input was not valid
  std::int64_t points;      ///< integrand evaluations
  Status status;

  /// Whether there are numbers at all.
  bool valid() const { return status == Status::ok || status == Status::not_reached; }
};

/// A matrix stored by columns: an Eigen::MatrixXd, a block of one, or an Eigen::Map of memory of the caller's.
using Matrix = Eigen::Ref<const Eigen::MatrixXd>;

/// P(X <= z) for the correlation matrix R, which may be singular. Entries +inf of z impose nothing; any -inf gives p = 0; an
/// empty z gives p = 1. R is accepted when symmetric, with a unit diagonal and without negative eigenvalues up to rounding
/// (1e-8 an entry, 1e-9 m an eigenvalue).
Probability mvn_cdf(std::span<const double> z, const Matrix& R, const Options& options = {});

/// The same for R = U U^T with the m x d factor U, whose rows have length 1 (rows off by rounding, 1e-8, are rescaled). It is the
/// better form where d is small: nothing needs to be checked, and only what matters of R is ever formed.
Probability mvn_cdf_factor(std::span<const double> z, const Matrix& U, const Options& options = {});

/// Both, for a thread with many problems: the same answers from memory that is kept, so that after the largest problem no more is
/// asked for. (Eigen itself asks for some to check an R or multiply a U of several hundred rows.)
class Solver {
 public:
  Probability cdf(std::span<const double> z, const Matrix& R, const Options& options = {});
  Probability cdf_factor(std::span<const double> z, const Matrix& U, const Options& options = {});

 private:
  Arena arena_;
};

}  // namespace probust::normal
