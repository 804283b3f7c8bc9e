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

double GrowingCholesky::rounding(Eigen::Index size) { return 32.0 * static_cast<double>(size) * std::numeric_limits<double>::epsilon(); }

Eigen::Index GrowingCholesky::grow() {
  if (rank_ == columns_.cols()) columns_.conservativeResize(size(), 2 * rank_);
  return rank_++;
}

void GrowingCholesky::settle(Eigen::Index column) {
  const double threshold = rounding(size());
  auto fresh = columns_.col(column);
  for (Eigen::Index i = 0; i < size(); ++i) {
    if (!open(i)) {
      fresh[i] = 0.0;
      continue;
    }
    // Rounding must not make an entry larger than what is left of its row.
    const double limit = std::sqrt(residual_[i]);
    fresh[i] = std::clamp(fresh[i], -limit, limit);
    residual_[i] -= fresh[i] * fresh[i];
    if (residual_[i] <= threshold) open_[i] = 0;
  }
}

void GrowingCholesky::take(Eigen::Index pivot) {
  const Eigen::Index column = grow();
  const double root = std::sqrt(residual_[pivot]);
  auto fresh = columns_.col(column);
  fresh = matrix_.col(pivot);
  fresh.noalias() -= columns_.leftCols(column) * columns_.row(pivot).head(column).transpose();
  fresh /= root;
  fresh[pivot] = root;
  settle(column);
  residual_[pivot] = 0.0;
  open_[pivot] = 0;
}

bool GrowingCholesky::take_factor(const Eigen::VectorXd& weights) {
  const Eigen::MatrixXd conditional = matrix_ - factor() * factor().transpose();
  Eigen::VectorXd direction = conditional * weights;
  const double variance = weights.dot(direction);
  if (!(variance > 1e-6 * weights.squaredNorm())) return false;
  direction /= std::sqrt(variance);
  // The least squares fit of share * direction direction^T off the diagonal; a share up to 1 leaves a semidefinite rest.
  const Eigen::VectorXd squares = direction.cwiseAbs2();
  const double common = direction.dot(conditional * direction) - squares.dot(conditional.diagonal());
  const double own = squares.sum() * squares.sum() - squares.squaredNorm();
  const double share = own > 0.0 ? common / own : 0.0;
  if (!(share > 0.01)) return false;
  columns_.col(grow()) = std::sqrt(std::min(share, 1.0)) * direction;
  settle(rank_ - 1);
  return true;
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
