// SPDX-License-Identifier: MIT
//
// The standard bivariate normal distribution, to about 1e-15.
#pragma once

namespace probust::normal {

struct Bivariate {
  double p;  ///< P(X <= a, Y <= b)
  double q;  ///< P(X > a or Y > b) = 1 - p
};

/// Both probabilities for correlation `rho`, each without forming 1 minus the other: `q` keeps its relative accuracy however
/// small it is, `p` an absolute 1e-15. Infinite limits and rho = +-1 are exact; a `rho` beyond +-1 is taken as +-1; NaN gives
/// NaN.
Bivariate bivariate(double a, double b, double rho);

/// P(X > a, Y > b). Relative accuracy holds for rho >= 0 and rho <= -0.925; between, absolute accuracy.
double bivariate_upper(double a, double b, double rho);

}  // namespace probust::normal
