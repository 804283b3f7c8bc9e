// SPDX-License-Identifier: MIT
//
// Cholesky factors of correlation matrices that may be singular.
#pragma once

#include <algorithm>
#include <limits>
#include <span>

#include "probust/base/linear_algebra.h"
#include "probust/normal/arena.h"
#include "probust/normal/orthant.h"

namespace probust::normal {

/// A Cholesky factorisation that grows by one column per step, with the caller's choice of pivots, in any order. A row is done
/// when its residual variance is no larger than a rounding error: it is then a linear combination of the pivots so far. Nothing
/// is added to the diagonal.
class GrowingCholesky {
 public:
  /// Factorises the correlations of `orthant`. Both `orthant` and the memory of `arena` must outlive the factorisation.
  GrowingCholesky(const Orthant& orthant, Arena& arena);

  Eigen::Index size() const { return orthant_.size; }
  /// The number of columns so far. When no row is open, this is the rank.
  Eigen::Index rank() const { return rank_; }
  bool complete() const {
    return std::none_of(open_.begin(), open_.end(), [](char open) { return open != 0; });
  }

  /// Whether row i still has residual variance.
  bool open(Eigen::Index i) const { return open_[i] != 0; }
  /// The variance of variable i given the pivots so far.
  double residual(Eigen::Index i) const { return residual_[i]; }
  /// Entry of the factor: R(i, j) = sum_c entry(i, c) entry(j, c), up to the residuals. 0 in columns that were added after row i
  /// was done.
  double entry(Eigen::Index i, Eigen::Index column) const { return columns_[column][i]; }

  /// Adds a column with an open row as its pivot.
  void take(Eigen::Index pivot);

  /// The largest residual variance that counts as a rounding error.
  static double rounding(Eigen::Index size);

 private:
  Orthant orthant_;
  Arena& arena_;
  std::span<double*> columns_;
  std::span<double> residual_;
  std::span<char> open_;
  Eigen::Index rank_ = 0;
};

/// Factorises R, with the variable of largest residual variance as the next pivot, in at most `most` columns.
GrowingCholesky pivoted_cholesky(const Orthant& orthant, Arena& arena,
                                 Eigen::Index most = std::numeric_limits<Eigen::Index>::max());

/// Whether the symmetric matrix has no eigenvalue below -tolerance. Reads and overwrites the lower triangle only.
bool semidefinite(Eigen::Map<Eigen::MatrixXd> matrix, double tolerance);

}  // namespace probust::normal
