// SPDX-License-Identifier: MIT
#include "probust/normal/limits.h"

#include <algorithm>
#include <cmath>

#include "probust/normal/factor.h"

namespace probust::normal {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

constexpr double kInputRounding = 1e-8;       ///< entries of R and lengths of rows of U may be off by this
constexpr double kEigenvalueRounding = 1e-9;  ///< an eigenvalue of R may be m times this below 0

}  // namespace

Status check_limits(std::span<const double> z) {
  return std::any_of(z.begin(), z.end(), [](double limit) { return std::isnan(limit); }) ? Status::nonfinite : Status::ok;
}

Status check_options(const Options& options) {
  const bool sound = options.abs > 0.0 && options.rel_q > 0.0 && options.max_points > 0;
  return sound ? Status::ok : Status::bad_options;
}

Status check_correlation(const Matrix& R, Index m, Arena& arena) {
  if (R.rows() != m || R.cols() != m) return Status::size_mismatch;
  if (!R.allFinite()) return Status::nonfinite;
  for (Index i = 0; i < m; ++i) {
    if (std::abs(R(i, i) - 1.0) > kInputRounding) return Status::bad_diagonal;
  }
  for (Index j = 0; j < m; ++j) {
    for (Index i = 0; i < j; ++i) {
      if (std::abs(R(i, j) - R(j, i)) > kInputRounding) return Status::asymmetric;
    }
  }
  const Arena::Scope scope(arena);
  Eigen::Map<MatrixXd> copy(arena.take<double>(R.size()).data(), m, m);
  copy = R;
  return semidefinite(copy, kEigenvalueRounding * static_cast<double>(std::max<Index>(m, 10))) ? Status::ok : Status::indefinite;
}

Status check_factor(const Matrix& U, Index m) {
  if (U.rows() != m) return Status::size_mismatch;
  if (!U.allFinite()) return Status::nonfinite;
  for (Index i = 0; i < m; ++i) {
    if (!(std::abs(U.row(i).norm() - 1.0) <= kInputRounding)) return Status::bad_diagonal;
  }
  return Status::ok;
}

}  // namespace probust::normal
