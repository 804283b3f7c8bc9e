// SPDX-License-Identifier: MIT
// I_x(a, b) by the continued fraction of DLMF 8.17.22, evaluated by Lentz's method; quantiles by bisection.
#include "probust/estimators/statistics/binomial.h"

#include <algorithm>
#include <cmath>

namespace probust {
namespace {

constexpr double kTiny = 1e-300;

double away_from_zero(double x) { return std::fabs(x) < kTiny ? kTiny : x; }

// ln Gamma for positive arguments, unlike std::lgamma, which writes the sign to a global variable.
double log_gamma(double x) {
  if (x < 10) return log_gamma(x + 1) - std::log(x);
  const double r = 1 / x, r2 = r * r;  // Stirling's series, DLMF 5.11.1
  return (x - 0.5) * std::log(x) - x + 0.91893853320467274178 +
         r * (1.0 / 12 - r2 * (1.0 / 360 - r2 * (1.0 / 1260 - r2 * (1.0 / 1680 - r2 * (1.0 / 1188 - r2 * 691.0 / 360360)))));
}

double continued_fraction(double a, double b, double x) {
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), result = d;
  for (int m = 1; m < 10000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    result *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    result *= c * d;
    if (std::fabs(c * d - 1) < 1e-16) break;
  }
  return result;
}

// The x with I_x(a, b) = probability.
double beta_quantile(double a, double b, double probability) {
  double low = 0, high = 1;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    (incomplete_beta(a, b, middle) < probability ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

}  // namespace

double log_beta(double a, double b) { return log_gamma(a) + log_gamma(b) - log_gamma(a + b); }

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, 1 - x);
  const double front = std::exp(a * std::log(x) + b * std::log1p(-x) - log_beta(a, b));
  return front * continued_fraction(a, b, x) / a;
}

Interval clopper_pearson(std::int64_t successes, std::int64_t trials, double confidence) {
  const double tail = (1 - confidence) / 2;
  const auto k = static_cast<double>(successes), n = static_cast<double>(trials);
  return {successes == 0 ? 0 : beta_quantile(k, n - k + 1, tail),
          successes == trials ? 1 : beta_quantile(k + 1, n - k, 1 - tail)};
}

}  // namespace probust
