// SPDX-License-Identifier: MIT
//
// Correlation matrices of low rank: a polytope seen from inside, direction by direction.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <span>

#include "probust/normal/arena.h"
#include "probust/normal/quadrature.h"
#include "probust/normal/rare.h"

namespace probust::normal {

/// What `directions` takes: columns of the factor, and at least this many limits for each of them, below which other methods win.
inline constexpr Eigen::Index kMostColumns = 16, kLimitsPerColumn = 16;

/// P(X <= z) and its complement for X = U Y with d <= kMostColumns independent standard normal variables Y: rows of U (m x d) of
/// length 1, limits finite, not negative and ascending. Samples until both errors meet the goal, its points are used up or the
/// points of the lattices are. Errors are 5 standard errors, what faces that no direction has found may hide, and what single
/// precision may do, about 1e-6. Nothing where a first look finds few faces that matter or a p below 0.05: few directions would
/// carry all of it, and scatter would not show what was missed.
std::optional<Integral> directions(std::span<const double> z, const Eigen::Ref<const Eigen::MatrixXd>& U, const Goal& goal,
                                   Arena& arena);

}  // namespace probust::normal
