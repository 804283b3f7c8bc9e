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

/// Limits of `directions`: the most columns of the factor, and the fewest limits per column; with fewer, other methods win.
inline constexpr Eigen::Index kMostColumns = 16, kLimitsPerColumn = 16;

/// P(X <= z) and its complement for X = U Y with d <= kMostColumns independent standard normal variables Y: rows of U (m x d) of
/// length 1, limits finite, nonnegative and ascending. Samples until both errors meet the goal, or its points or those of the
/// lattices are used up. The reported error is the sum of 5 standard errors, a bound on faces that no direction has found, and
/// the effect of single precision, about 1e-6. Empty if a first look finds few faces that matter or p below 0.05: then few
/// directions would determine p, and the scatter would not show what was missed.
std::optional<Integral> directions(std::span<const double> z, const Eigen::Ref<const Eigen::MatrixXd>& U, const Goal& goal,
                                   Arena& arena);

}  // namespace probust::normal
