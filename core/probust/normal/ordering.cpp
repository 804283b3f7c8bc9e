// SPDX-License-Identifier: MIT
#include "probust/normal/ordering.h"

#include <algorithm>
#include <cmath>

#include "probust/normal/limits.h"
#include "probust/normal/rational.h"
#include "probust/normal/univariate.h"

namespace probust::normal {

double confined_mean(double lo, double hi) {
  if (!(lo < hi)) return std::clamp(0.5 * (lo + hi), -rational::kFar, rational::kFar);
  if (lo + hi > 0.0) return -confined_mean(-hi, -lo);
  const double mass = interval(lo, hi);
  if (!(mass > 0.0)) return hi;
  return std::clamp((pdf(lo) - pdf(hi)) / mass, lo, hi);
}

Eigen::Index most_binding(const GrowingCholesky& cholesky, std::span<const double> slack) {
  Eigen::Index best = -1;
  double least = kInfinity;
  for (Eigen::Index i = 0; i < cholesky.size(); ++i) {
    if (!cholesky.open(i)) continue;
    const double standard = slack[i] / std::sqrt(cholesky.residual(i));
    if (best < 0 || standard < least) best = i, least = standard;
  }
  return best;
}

void settle(const GrowingCholesky& cholesky, Eigen::Index column, double mean, std::span<double> slack) {
  for (Eigen::Index i = 0; i < cholesky.size(); ++i) slack[i] -= cholesky.entry(i, column) * mean;
}

}  // namespace probust::normal
