// SPDX-License-Identifier: MIT
//
// Correlation matrices with one factor, R_ij = a_i a_j off the diagonal.
#pragma once

#include <optional>
#include <span>

#include "probust/normal/arena.h"
#include "probust/normal/orthant.h"
#include "probust/normal/quadrature.h"

namespace probust::normal {

/// Loadings of a one-factor matrix: X_i = a_i T + sqrt(1 - a_i^2) e_i.
struct OneFactor {
  std::span<const double> loading;
  double residual;  ///< max |R_ij - a_i a_j|
};

/// The loadings of R if its residual is at most `tolerance` and no loading exceeds 1.
std::optional<OneFactor> fit_one_factor(const Orthant& orthant, double tolerance, Arena& arena);

/// Bound on the change of p if correlations change by `factor.residual` (Plackett 1954), for limits in ascending order.
double one_factor_bias(std::span<const double> z, const OneFactor& factor);

/// P(X <= z) and its complement by one quadrature over T, for finite limits. q keeps its relative accuracy.
Integral one_factor(std::span<const double> z, std::span<const double> loading, Arena& arena);

}  // namespace probust::normal
