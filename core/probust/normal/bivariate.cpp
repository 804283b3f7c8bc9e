// SPDX-License-Identifier: MIT
//
// Drezner and Wesolowsky, "On the computation of the bivariate normal integral", J. Statist. Comput. Simul. 35 (1990), and Genz,
// "Numerical computation of rectangular bivariate and trivariate normal and t probabilities", Statistics and Computing 14 (2004).
// The derivative of P(X > h, Y > k) with respect to rho is the bivariate density (Plackett 1954); the density is integrated from
// rho = 0 or, if |rho| is large, from rho = +-1.
#include "probust/normal/bivariate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "probust/normal/limits.h"
#include "probust/normal/quadrature.h"
#include "probust/normal/rational.h"
#include "probust/normal/univariate.h"

namespace probust::normal {
namespace {

constexpr double kTwoPi = 2.0 * std::numbers::pi;
constexpr double kStrong = 0.925;  ///< from this |rho| on, integrate from rho = +-1
constexpr int kNodes = 32;         ///< a multiple of every vector length

/// The integral of the density over correlations 0 to rho. It is the same for (h, k) and (-h, -k).
double gained_from_independence(double h, double k, double rho) {
  const auto& rule = GaussLegendre<kNodes>::rule();
  const double half = 0.5 * rho, squares = 0.5 * (h * h + k * k), product = h * k;
  std::array<double, kNodes> term;
  for (int i = 0; i < kNodes; ++i) {
    const double r = half * (1.0 + rule.node[i]), rest = (1.0 - r) * (1.0 + r);
    term[i] = rule.weight[i] * rational::exp(std::max((r * product - squares) / rest, -708.0)) / std::sqrt(rest);
  }
  double sum = 0.0;
  for (const double each : term) sum += each;
  return sum * half / kTwoPi;
}

/// The integral of the density over correlations rho to 1. It is the same for (h, k) and (-h, -k).
///
/// With s = sqrt(1 - r^2) it is the integral over (0, a), a = sqrt(1 - rho^2), of exp(-(h - k)^2 / (2 s^2)) S(s), where
/// S(s) = exp(-h k / (1 + sqrt(1 - s^2))) / sqrt(1 - s^2) is smooth. The first terms of S in powers of s^2 are integrated in
/// closed form; the remainder is small and smooth enough for Gauss-Legendre. All terms are relative to the largest exponential,
/// so nothing overflows.
double lost_from_equality(double h, double k, double rho) {
  const double a2 = (1.0 - rho) * (1.0 + rho), a = std::sqrt(a2);
  if (a == 0.0) return 0.0;
  const double gap = std::abs(h - k), gap2 = gap * gap, product = h * k;
  const double c1 = (4.0 - product) / 8.0, c2 = c1 * (12.0 - product) / 16.0;
  const double scale = std::exp(-0.5 * (gap2 / a2 + product));
  const double moment0 = a - gap * mills_ratio(gap / a);
  const double moment2 = (a * a2 - gap2 * moment0) / 3.0;
  const double moment4 = (a * a2 * a2 - gap2 * moment2) / 5.0;
  const double leading = scale * (moment0 + c1 * moment2 + c2 * moment4);

  const auto& rule = GaussLegendre<kNodes>::rule();
  std::array<double, kNodes> term;
  for (int i = 0; i < kNodes; ++i) {
    const double s = 0.5 * a * (1.0 + rule.node[i]), s2 = s * s, root = std::sqrt(1.0 - s2);
    // S(s) = exp(-product / 2) exp(bend) / root
    const double bend = -product * s2 / (2.0 * (1.0 + root) * (1.0 + root));
    const double remainder = rational::exp(bend) / root - (1.0 + s2 * (c1 + s2 * c2));
    term[i] = rule.weight[i] * rational::exp(std::max(-0.5 * (gap2 / s2 + product), -708.0)) * remainder;
  }
  double rest = 0.0;
  for (const double each : term) rest += each;
  return (leading + 0.5 * a * rest) / kTwoPi;
}

/// The part of P(X > h, Y > k) that does not change if both limits change sign, for X, Y with correlation rho. It contains all
/// terms but one.
struct Start {
  double rho;       ///< 0, 1 or -1: the correlation at which the integral starts
  double integral;  ///< the integral of the density from this correlation to the given one
};

Start plackett(double h, double k, double rho) {
  if (rho >= kStrong) return {1.0, -lost_from_equality(h, k, rho)};
  if (rho <= -kStrong) return {-1.0, lost_from_equality(h, -k, -rho)};
  return {0.0, rho == 0.0 ? 0.0 : gained_from_independence(h, k, rho)};
}

double upper_from(const Start& start, double h, double k) {
  if (start.rho > 0.0) return std::max(0.0, complement(std::max(h, k)) + start.integral);
  if (start.rho < 0.0) return interval(h, -k) + start.integral;
  return std::max(0.0, complement(h) * complement(k) + start.integral);
}

/// The position and width of the peak of x -> pdf(x) P(Y > k | X = x) over x > h. The logarithm of this function is concave, and
/// its slope is rho / s hazard(u) - x with u = (k - rho x) / s.
struct Peak {
  double at, width;
};

double hazard(double u) { return u > 0.0 ? 1.0 / mills_ratio(u) : pdf(u) / complement(u); }

Peak find_peak(double h, double k, double rho, double s) {
  const auto slope = [&](double x) { return rho / s * hazard((k - rho * x) / s) - x; };
  double low = h, high = h;
  if (slope(h) > 0.0) {
    for (double step = 1.0; slope(high) > 0.0; step *= 2.0) low = high, high += step;
    for (int i = 0; i < 60 && high - low > 1e-3; ++i) {
      const double middle = 0.5 * (low + high);
      (slope(middle) > 0.0 ? low : high) = middle;
    }
  }
  const double u = (k - rho * high) / s, rate = hazard(u), bend = 1.0 + rho * rho / (s * s) * rate * std::max(0.0, rate - u);
  return {high, 1.0 / (std::abs(slope(high)) + std::sqrt(bend))};
}

/// P(X > h, Y > k) for |rho| < 1 and finite limits. All terms are positive, so there is no cancellation.
double upper_by_conditioning(double h, double k, double rho) {
  constexpr double kReach = 9.5;
  constexpr int kMostPanels = 100;  // enough for a smooth integrand; only rounding errors in s could call for more
  if (h < k) std::swap(h, k);
  const double s = std::sqrt((1.0 - rho) * (1.0 + rho));
  const Peak peak = find_peak(h, k, rho, s);
  const double at = peak.at, given = (k - rho * at) / s, tail = complement(given), log_tail = log_complement(given);
  // The integrand divided by its value at the peak. The curvature of its logarithm is at least that of pdf(x).
  const auto integrand = [&](double x) {
    const double u = (k - rho * x) / s, gauss = std::exp(-0.5 * (x - at) * (x + at));
    return Bivariate{0.0, gauss * (tail > 1e-280 ? complement(u) / tail : std::exp(log_complement(u) - log_tail))};
  };
  const double first = std::max(h, at - kReach), last = at + kReach;
  Breaks marks, breaks;
  for (const double width : {peak.width, 1.0}) {
    for (const double steps : {-32.0, -16.0, -8.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0})
      marks.add(at + steps * width);
  }
  marks.sort();
  breaks.add(first);
  for (const double mark : marks.all()) {
    if (mark > breaks.back() && mark < last) breaks.add(mark);
  }
  breaks.add(last);
  return pdf(at) * tail * integrate(integrand, breaks, 0.0, kMostPanels).q;
}

/// P(X > h, Y > k), computed from `start` or, if the two terms cancel, by conditioning.
double upper(const Start& start, double h, double k, double rho) {
  const double both = upper_from(start, h, k);
  if (!(rho < 0.0 && rho > -1.0 && both < 0.01 * complement(h) * complement(k))) return both;
  return upper_by_conditioning(h, k, rho);
}

/// Whether the probability beyond a limit underflows.
bool beyond(double limit) { return std::abs(limit) > 38.5; }

}  // namespace

double bivariate_upper(double a, double b, double rho) {
  if (std::isnan(a) || std::isnan(b) || std::isnan(rho)) return kNan;
  if (beyond(a)) return a > 0.0 ? 0.0 : complement(b);
  if (beyond(b)) return b > 0.0 ? 0.0 : complement(a);
  rho = std::clamp(rho, -1.0, 1.0);
  return upper(plackett(a, b, rho), a, b, rho);
}

Bivariate bivariate(double a, double b, double rho) {
  if (std::isnan(a) || std::isnan(b) || std::isnan(rho)) {
    return {kNan, kNan};
  }
  if (beyond(a)) return a > 0.0 ? Bivariate{cdf(b), complement(b)} : Bivariate{0.0, 1.0};
  if (beyond(b)) return b > 0.0 ? Bivariate{cdf(a), complement(a)} : Bivariate{0.0, 1.0};
  rho = std::clamp(rho, -1.0, 1.0);
  const Start start = plackett(a, b, rho);
  const double both = upper_from(start, a, b), qa = complement(a), qb = complement(b);
  // Subtracts the intersection from the smaller tail. This loses little accuracy, because the union is at least as probable as
  // the larger tail.
  return {upper(start, -a, -b, rho), std::min(1.0, std::max(qa, qb) + std::max(0.0, std::min(qa, qb) - both))};
}

}  // namespace probust::normal
