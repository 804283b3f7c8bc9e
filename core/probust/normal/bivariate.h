// SPDX-License-Identifier: MIT
//
// The standard bivariate normal distribution. The relative error of a probability P is about 2e-15 (5 + |log P|), in every tail.
#pragma once

namespace probust::normal {

struct Bivariate {
  double p;  ///< P(X <= a, Y <= b)
  double q;  ///< P(X > a or Y > b) = 1 - p
};

/// Both probabilities for correlation `rho`. Neither is computed as 1 minus the other, so both keep their relative accuracy,
/// however small they are. Infinite limits and rho = +-1 are exact; `rho` is clamped to [-1, 1]; NaN gives NaN.
Bivariate bivariate(double a, double b, double rho);

/// P(X > a, Y > b).
double bivariate_upper(double a, double b, double rho);

}  // namespace probust::normal
