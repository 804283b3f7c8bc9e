// SPDX-License-Identifier: MIT
#include "probust/normal/univariate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "probust/normal/limits.h"
#include "probust/normal/rational.h"

namespace probust::normal {
namespace {

constexpr double kInverseRootTwoPi = 0.3989422804014327;
constexpr double kLogRootTwoPi = 0.9189385332046727;

/// log P(X > x) for x >= 20 from the asymptotic series of Mills' ratio.
double log_far_tail(double x) {
  const double ratio = 1.0 / (x * x);
  double term = 1.0, sum = 0.0;
  for (int k = 1; k <= 12; ++k) {
    term *= -(2 * k - 1) * ratio;
    sum += term;
  }
  return -0.5 * x * x - kLogRootTwoPi - std::log(x) + std::log1p(sum);
}

/// One Halley step towards the x > 0 whose upper tail is q; the step's own error is negligible.
double polish_tail(double x, double q) {
  const double density = pdf(x);
  if (!(density > std::numeric_limits<double>::min())) return x;
  const double step = (complement(x) - q) / density;
  return x + step / (1.0 - 0.5 * x * step);
}

/// |quantile| of a tail of mass q <= 0.075.
double tail_quantile(double q) {
  const double r = std::sqrt(-std::log(q));
  const double x = r <= 5.0 ? rational::quantile_tail(r) : rational::quantile_far_tail(r);
  return polish_tail(x, q);
}

}  // namespace

double pdf(double x) {
  const double square = x * x;
  if (std::isinf(square)) return 0.0;
  const double rest = std::fma(x, x, -square);  // the part of the square lost to rounding
  return kInverseRootTwoPi * std::exp(-0.5 * square) * (1.0 - 0.5 * rest);
}

double complement(double x) {
  if (std::isinf(x)) return x > 0 ? 0.0 : 1.0;
  // x / sqrt(2) to twice the precision: erfc multiplies an argument's relative error by x^2.
  constexpr double kHigh = 0.7071067811865476, kLow = -4.833646656726457e-17;
  const double y = x * kHigh;
  const double rest = std::fma(x, kHigh, -y) + x * kLow;
  const double tail = std::erfc(y);
  if (!(std::abs(y) < 30.0)) return 0.5 * tail;
  return 0.5 * (tail - rest * 2.0 * std::numbers::inv_sqrtpi * std::exp(-y * y));
}

double cdf(double x) { return complement(-x); }

double interval(double a, double b) {
  if (!(b > a)) return std::isnan(a) || std::isnan(b) ? kNan : 0.0;
  return a > 0 ? complement(a) - complement(b) : cdf(b) - cdf(a);
}

double log_complement(double x) {
  if (x < -1.0) return std::log1p(-complement(-x));
  if (x < 30.0) return std::log(complement(x));
  return std::isinf(x) ? -kInfinity : log_far_tail(x);
}

double log_cdf(double x) { return log_complement(-x); }

double quantile(double p) {
  if (!(p >= 0.0 && p <= 1.0)) return kNan;
  if (p == 0.0) return -kInfinity;
  if (p == 1.0) return kInfinity;
  if (std::abs(p - 0.5) <= 0.425) return rational::quantile_central(p - 0.5);
  return p < 0.5 ? -tail_quantile(p) : tail_quantile(1.0 - p);
}

double quantile_complement(double q) { return -quantile(q); }

double mills_ratio(double x) { return std::isinf(x) ? 0.0 : rational::mills_ratio(x); }

}  // namespace probust::normal
