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

/// What a mean over a lattice may have missed, since the integrand may be large only where no point fell: an integrand that
/// nowhere exceeds `most`, whose bounds move by `steepest` with the variables before them, in units of the variable they bound.
double unseen_mass(const LatticeMean& mean, double most, double steepest);

/// One orthant probability, sampled as far as the caller asks. The variables are put in the order in which they bind (Genz and
/// Bretz; Gibson, Glasbey and Elston 1994), and rows of a singular R that end in the same column of its Cholesky factor make one
/// interval together (Genz and Kwong 2000).
class Separation {
 public:
  /// Limits finite, correlations positive semidefinite with unit diagonal; `points` of the first level, a shift. The memory of
  /// `arena` must outlive this; `orthant` need not.
  Separation(const Orthant& orthant, std::uint64_t seed, std::int64_t points, Arena& arena);

  /// Evaluates the next level of points (the first one included). Throws Stopped as LatticeMean::refine does.
  void refine(const std::atomic<bool>* stop = nullptr);

  double p() const { return mean_.p(); }
  double q() const { return mean_.q(); }
  /// kErrorFactor standard errors, and what treating tiny residual variances as zero may have changed.
  double error() const;
  /// Of this, what more points do not reduce.
  double bias() const { return bias_; }
  std::int64_t points() const { return mean_.points(); }
  /// What the next level costs, in evaluations times variables.
  double next_cost() const { return static_cast<double>(mean_.next_points()) * dimension_; }
  std::int64_t next_points() const { return mean_.next_points(); }
  bool exhausted() const { return mean_.exhausted(); }

 private:
  /// limit - sum_c coefficient[c] y_c bounds the variable of the row's last column.
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
  double first_mass_ = 1.0;  ///< the probability of the first column's interval, which no value of the integrand exceeds
  double steepest_ = 0.0;    ///< how fast a bound moves with the variables before it, in units of the variable that it bounds
  int dimension_;
  ShiftedLattice lattice_;
  LatticeMean mean_;
  std::span<Lanes> y_;
};

}  // namespace probust::normal
