// SPDX-License-Identifier: MIT
//
// Higham, "Analysis of the Cholesky decomposition of a semi-definite matrix", in Reliable Numerical Computation (1990), for
// pivoting and rank.
#include "probust/normal/factor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "probust/base/linear_algebra.h"

namespace probust::normal {

GrowingCholesky::GrowingCholesky(const Orthant& orthant, Arena& arena)
    : orthant_(orthant),
      arena_(arena),
      columns_(arena.take<double*>(orthant.size)),
      residual_(arena.take<double>(orthant.size)),
      open_(arena.take<char>(orthant.size, 1)) {
  for (Eigen::Index i = 0; i < orthant.size; ++i) residual_[i] = orthant.rho(i, i);
}

double GrowingCholesky::rounding(Eigen::Index size) {
  return 32.0 * static_cast<double>(size) * std::numeric_limits<double>::epsilon();
}

void GrowingCholesky::take(Eigen::Index pivot) {
  const Eigen::Index column = rank_++, m = size();
  double* const fresh = columns_[column] = arena_.take<double>(m).data();
  std::copy_n(orthant_.column(pivot), m, fresh);
  for (Eigen::Index c = 0; c < column; ++c) {
    const double* const earlier = columns_[c];
    const double factor = earlier[pivot];
    for (Eigen::Index i = 0; i < m; ++i) fresh[i] -= factor * earlier[i];
  }
  const double root = std::sqrt(residual_[pivot]), threshold = rounding(m);
  for (Eigen::Index i = 0; i < m; ++i) {
    if (!open(i)) {
      fresh[i] = 0.0;
      continue;
    }
    // Rounding must not make an entry larger than the square root of its row's residual.
    const double limit = std::sqrt(residual_[i]);
    fresh[i] = i == pivot ? root : std::clamp(fresh[i] / root, -limit, limit);
    residual_[i] = i == pivot ? 0.0 : residual_[i] - fresh[i] * fresh[i];
    if (residual_[i] <= threshold) open_[i] = 0;
  }
}

GrowingCholesky pivoted_cholesky(const Orthant& orthant, Arena& arena, Eigen::Index most) {
  GrowingCholesky growing(orthant, arena);
  for (;;) {
    Eigen::Index pivot = -1;
    for (Eigen::Index i = 0; i < orthant.size; ++i) {
      if (growing.open(i) && (pivot < 0 || growing.residual(i) > growing.residual(pivot))) pivot = i;
    }
    if (pivot < 0 || growing.rank() == most) return growing;
    growing.take(pivot);
  }
}

bool semidefinite(Eigen::Map<Eigen::MatrixXd> matrix, double tolerance) {
  matrix.diagonal().array() += tolerance;
  return cholesky_in_place(matrix);
}

}  // namespace probust::normal
