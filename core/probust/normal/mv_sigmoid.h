// SPDX-License-Identifier: MIT
//
// The multivariate sigmoid, a cheap substitute for the multivariate normal probability that ignores correlation.
#pragma once

#include <span>

namespace probust::normal {

struct MvSigmoid {
  double p;       ///< 1 / (1 + sum_i exp(-z_i))
  double p_fail;  ///< 1 - p, computed directly
};

/// The multivariate sigmoid of `z`. It never overflows: +inf has no effect, any -inf gives p = 0, NaN gives NaN, and an empty `z`
/// gives p = 1. It ranks points well, but its values are inaccurate (see multivariate.h for the probability itself).
MvSigmoid mv_sigmoid(std::span<const double> z);

}  // namespace probust::normal
