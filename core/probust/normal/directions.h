// SPDX-License-Identifier: MIT
//
// Correlation matrices of low rank: a polytope is sampled along directions from the origin, which is inside it.
#pragma once

#include <optional>
#include <span>

#include "probust/base/linear_algebra.h"
#include "probust/normal/arena.h"
#include "probust/normal/quadrature.h"
#include "probust/normal/rare.h"

namespace probust::normal {

/// Limits of `directions`: the maximum number of columns of the factor, and the minimum number of limits per column. With fewer
/// limits, other methods are faster.
inline constexpr Eigen::Index kMostColumns = 16, kLimitsPerColumn = 16;

/// P(X <= z) and its complement for X = U Y with d <= kMostColumns independent standard normal variables Y. The rows of U (m x
/// d) have length 1; limits are finite, nonnegative and ascending. Samples until both errors meet the goal, or all points of
/// the options or of the lattices are used. The reported error is the sum of 5 standard errors, a bound on the effect of faces
/// that no direction has found, and the effect of single precision, about 1e-6. Empty if the first directions find few faces that
/// matter, or find p below 0.05: few directions would then determine p, and the scatter would not reveal what was missed.
std::optional<Integral> directions(std::span<const double> z, const Eigen::Ref<const Eigen::MatrixXd>& U, const Goal& goal,
                                   Arena& arena);

}  // namespace probust::normal
