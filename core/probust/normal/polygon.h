// SPDX-License-Identifier: MIT
//
// Correlation matrices of rank two: the probability of a polygon in the plane, exactly, for any number of limits.
#pragma once

#include <span>

#include "probust/base/linear_algebra.h"
#include "probust/normal/arena.h"
#include "probust/normal/quadrature.h"

namespace probust::normal {

/// P(X <= z) and its complement for X = N Y with two independent standard normal variables Y. The rows of N (m x 2) have length
/// 1 up to rounding (they are rescaled); limits are finite, with any sign. Takes O(m log m) steps, and two bivariate
/// probabilities per side of the polygon.
Integral polygon(std::span<const double> z, const Eigen::Ref<const Eigen::MatrixXd>& N, Arena& arena);

}  // namespace probust::normal
