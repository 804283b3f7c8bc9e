// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "probust/normal/multivariate.h"

namespace probust::normal {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Limits may be infinite, but not NaN.
inline Status check_limits(std::span<const double> z) {
  return std::any_of(z.begin(), z.end(), [](double limit) { return std::isnan(limit); }) ? Status::nonfinite : Status::ok;
}

}  // namespace probust::normal
