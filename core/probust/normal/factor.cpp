// SPDX-License-Identifier: MIT
//
// Higham, "Analysis of the Cholesky decomposition of a semi-definite matrix", in Reliable Numerical Computation (1990), for
// pivoting and rank.
#include "probust/normal/factor.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

namespace probust::normal {

GrowingCholesky::GrowingCholesky(const Eigen::MatrixXd& R)
    : matrix_(R), columns_(R.rows(), std::min<Eigen::Index>(R.rows(), 16)), residual_(R.diagonal()), open_(R.rows(), 1) {}

double GrowingCholesky::rounding(Eigen::Index size) {
  return 32.0 * static_cast<double>(size) * std::numeric_limits<double>::epsilon();
}

void GrowingCholesky::take(Eigen::Index pivot) {
  const Eigen::Index column = rank_++;
  if (column == columns_.cols()) columns_.conservativeResize(size(), std::min(size(), 2 * column));
  const double root = std::sqrt(residual_[pivot]), threshold = rounding(size());
  auto fresh = columns_.col(column);
  fresh = matrix_.col(pivot);
  fresh.noalias() -= columns_.leftCols(column) * columns_.row(pivot).head(column).transpose();
  for (Eigen::Index i = 0; i < size(); ++i) {
    if (!open(i)) {
      fresh[i] = 0.0;
      continue;
    }
    // Rounding must not make an entry larger than what is left of its row.
    const double limit = std::sqrt(residual_[i]);
    fresh[i] = i == pivot ? root : std::clamp(fresh[i] / root, -limit, limit);
    residual_[i] = i == pivot ? 0.0 : residual_[i] - fresh[i] * fresh[i];
    if (residual_[i] <= threshold) open_[i] = 0;
  }
}

Eigen::MatrixXd pivoted_cholesky(const Eigen::MatrixXd& R) {
  GrowingCholesky growing(R);
  for (;;) {
    Eigen::Index pivot = -1;
    for (Eigen::Index i = 0; i < R.rows(); ++i) {
      if (growing.open(i) && (pivot < 0 || growing.residual(i) > growing.residual(pivot))) pivot = i;
    }
    if (pivot < 0) return growing.factor();
    growing.take(pivot);
  }
}

bool semidefinite(const Eigen::MatrixXd& R, double tolerance) {
  Eigen::MatrixXd shifted = R;
  shifted.diagonal().array() += tolerance;
  return Eigen::LLT<Eigen::MatrixXd>(shifted).info() == Eigen::Success;
}

}  // namespace probust::normal
