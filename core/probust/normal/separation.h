// SPDX-License-Identifier: MIT
//
// Separation of variables: P(X <= b) as an integral of a product of conditional probabilities over the unit cube.
#pragma once

#include <cstdint>
#include <span>

#include "probust/normal/arena.h"
#include "probust/normal/lattice.h"
#include "probust/normal/orthant.h"

namespace probust::normal {

/// Bound on the mass that a mean over a lattice may have missed because the integrand is large only between the points. `most` is
/// an upper bound of the integrand; `steepest` is the rate at which a bound moves with the variables before it, in units of the
/// variable that it bounds.
double unseen_mass(const LatticeMean& mean, double most, double steepest);

/// One orthant probability, sampled level by level as the caller requests. The most restrictive variables come first (Genz and
/// Bretz; Gibson, Glasbey and Elston 1994). If R is singular, the rows that end in the same column of its Cholesky factor form
/// one interval together (Genz and Kwong 2000).
class Separation {
 public:
  /// Limits must be finite, and correlations positive semidefinite with unit diagonal. `points` is the number per shift at the
  /// first level. The memory of `arena` must outlive this object; `orthant` need not.
  Separation(const Orthant& orthant, std::uint64_t seed, std::int64_t points, Arena& arena);

  /// Evaluates the next level of points; the first call evaluates the first level. Throws Stopped like LatticeMean::refine.
  void refine(const std::atomic<bool>* stop = nullptr);

  double p() const { return mean_.p(); }
  double q() const { return mean_.q(); }
  /// The sum of kErrorFactor standard errors, unseen_mass, and the possible effect of setting tiny residual variances to zero.
  double error() const;
  /// The part of error() that more points do not reduce.
  double bias() const { return bias_; }
  std::int64_t points() const { return mean_.points(); }
  /// The cost of the next level, in evaluations times variables.
  double next_cost() const { return static_cast<double>(mean_.next_points()) * dimension_; }
  std::int64_t next_points() const { return mean_.next_points(); }
  bool exhausted() const { return mean_.exhausted(); }

 private:
  /// The variable of the row's last column is bounded by limit - sum_c coefficient[c] y_c.
  struct Row {
    const double* coefficient;
    double limit;
  };
  struct Column {
    std::span<Row> upper, lower;
  };

  void arrange(const Orthant& orthant, Arena& arena);
  void evaluate(const ShiftedLattice::Block& block, Lanes& p, Lanes& q);
  void bound(const Row& row, std::size_t column, Lanes& at) const;

  std::span<Column> columns_;
  double bias_ = 0.0;
  double first_mass_ = 1.0;  ///< probability of the first column's interval: an upper bound of the integrand
  double steepest_ = 0.0;    ///< how fast a bound moves with the variables before it, in units of the variable that it bounds
  int dimension_;
  ShiftedLattice lattice_;
  LatticeMean mean_;
  std::span<Lanes> y_;
};

}  // namespace probust::normal
