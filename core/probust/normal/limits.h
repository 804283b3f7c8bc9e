// SPDX-License-Identifier: MIT
#pragma once

#include <limits>
#include <span>

#include "probust/normal/arena.h"
#include "probust/normal/multivariate.h"

namespace probust::normal {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The conditions on a problem. Each function returns `ok` or the first violated condition.

/// Limits may be infinite, but not NaN.
Status check_limits(std::span<const double> z);
Status check_options(const Options& options);
/// R [m, m] must be finite, symmetric and positive semidefinite, with a diagonal of ones.
Status check_correlation(const Matrix& R, Eigen::Index m, Arena& arena);
/// U [m, d] must be finite, with rows of length 1.
Status check_factor(const Matrix& U, Eigen::Index m);

}  // namespace probust::normal
