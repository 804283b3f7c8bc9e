// SPDX-License-Identifier: MIT
//
// Cholesky factorisation of correlation matrices that may be singular.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace probust::normal {

/// A Cholesky factorisation that grows by one column a step, in whatever order of pivots the caller asks for. A row whose
/// residual variance has come down to rounding is done: it is a combination of the pivots so far. Nothing is ever added to the
/// diagonal.
class GrowingCholesky {
 public:
  /// Starts on a symmetric positive semidefinite matrix with unit diagonal, which must outlive the factorisation.
  explicit GrowingCholesky(const Eigen::MatrixXd& R);

  Eigen::Index size() const { return residual_.size(); }
  /// Columns so far; once no row is open, the rank.
  Eigen::Index rank() const { return rank_; }

  /// Whether row i still has variance of its own.
  bool open(Eigen::Index i) const { return open_[i] != 0; }
  /// Variance of variable i given the pivots so far.
  double residual(Eigen::Index i) const { return residual_[i]; }
  /// Entry of the factor: R(i, j) = sum_c entry(i, c) entry(j, c), up to the residuals. 0 once row i was done.
  double entry(Eigen::Index i, Eigen::Index column) const { return columns_(i, column); }
  /// The factor so far, one column a pivot.
  auto factor() const { return columns_.leftCols(rank()); }

  /// Adds the column of an open row.
  void take(Eigen::Index pivot);

  /// Residual variances up to this are rounding.
  static double rounding(Eigen::Index size);

 private:
  const Eigen::MatrixXd& matrix_;
  Eigen::MatrixXd columns_;
  Eigen::VectorXd residual_;
  std::vector<char> open_;
  Eigen::Index rank_ = 0;
};

/// The factor L with R = L L^T, as many columns as R has rank: each pivot is the variable with the largest residual variance.
Eigen::MatrixXd pivoted_cholesky(const Eigen::MatrixXd& R);

/// Whether R (symmetric) has no eigenvalue below -tolerance.
bool semidefinite(const Eigen::MatrixXd& R, double tolerance);

}  // namespace probust::normal
