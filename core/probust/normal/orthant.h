// SPDX-License-Identifier: MIT
#pragma once

#include "probust/base/linear_algebra.h"

namespace probust::normal {

using VectorView = Eigen::Map<const Eigen::VectorXd>;
using MatrixView = Eigen::Map<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>;

/// A problem X <= z with correlations R, as a view of existing memory. For any k, the first k limits form a problem, too, without
/// copying.
struct Orthant {
  Eigen::Index size = 0;
  const double* limits = nullptr;        ///< [size]
  const double* correlations = nullptr;  ///< column j starts at j * stride
  Eigen::Index stride = 0;

  double z(Eigen::Index i) const { return limits[i]; }
  double rho(Eigen::Index i, Eigen::Index j) const { return correlations[j * stride + i]; }
  const double* column(Eigen::Index j) const { return correlations + j * stride; }
  VectorView z() const { return {limits, size}; }
  MatrixView R() const { return {correlations, size, size, Eigen::OuterStride<>(stride)}; }
  Orthant first(Eigen::Index count) const { return {count, limits, correlations, stride}; }
};

}  // namespace probust::normal
