// SPDX-License-Identifier: MIT
//
// Drezner and Wesolowsky, "On the computation of the bivariate normal integral", J. Statist. Comput. Simul. 35 (1990), and
// Genz, "Numerical computation of rectangular bivariate and trivariate normal and t probabilities", Statistics and Computing 14
// (2004). The derivative of P(X > h, Y > k) by rho is the bivariate density (Plackett 1954); it is integrated from rho = 0, or,
// where |rho| is large, from rho = +-1.
#include "probust/normal/bivariate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "probust/normal/quadrature.h"
#include "probust/normal/univariate.h"

namespace probust::normal {
namespace {

constexpr double kTwoPi = 2.0 * std::numbers::pi;
constexpr double kStrong = 0.925;  ///< from here on integrate from rho = +-1

/// The integral of the density over correlations 0 to rho, with rho = sin(angle).
template <int N>
double gained_from_independence(double h, double k, double rho) {
  const auto& rule = GaussLegendre<N>::rule();
  const double half = 0.5 * std::asin(rho), squares = 0.5 * (h * h + k * k), product = h * k;
  double sum = 0.0;
  for (int i = 0; i < N; ++i) {
    const double sine = std::sin(half * (1.0 + rule.node[i]));
    sum += rule.weight[i] * std::exp((sine * product - squares) / (1.0 - sine * sine));
  }
  return sum * half / kTwoPi;
}

/// The integral of the density over correlations rho to 1, times 2 pi.
///
/// With s = sqrt(1 - r^2) it is the integral over (0, a), a = sqrt(1 - rho^2), of exp(-(h - k)^2 / (2 s^2)) S(s), where
/// S(s) = exp(-h k / (1 + sqrt(1 - s^2))) / sqrt(1 - s^2) is smooth. The first terms of S in powers of s^2 are integrated in
/// closed form; the rest is small and smooth enough for Gauss and Legendre. Everything is carried relative to its largest
/// exponential, so that nothing overflows.
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

  const auto& rule = GaussLegendre<24>::rule();
  double rest = 0.0;
  for (int i = 0; i < 24; ++i) {
    const double s = 0.5 * a * (1.0 + rule.node[i]), s2 = s * s, root = std::sqrt(1.0 - s2);
    // S(s) = exp(-product / 2) exp(bend) / root
    const double bend = -product * s2 / (2.0 * (1.0 + root) * (1.0 + root));
    const double remainder = std::exp(bend) / root - (1.0 + s2 * (c1 + s2 * c2));
    rest += rule.weight[i] * std::exp(-0.5 * (gap2 / s2 + product)) * remainder;
  }
  return leading + 0.5 * a * rest;
}

double upper_finite(double h, double k, double rho) {
  if (rho >= kStrong) return std::max(0.0, complement(std::max(h, k)) - lost_from_equality(h, k, rho) / kTwoPi);
  if (rho <= -kStrong) return interval(h, -k) + lost_from_equality(h, -k, -rho) / kTwoPi;
  const double independent = complement(h) * complement(k);
  if (rho == 0.0) return independent;
  const bool gentle = std::abs(rho) < 0.3 && std::abs(h * k) < 20.0;
  const double gained = gentle ? gained_from_independence<10>(h, k, rho) : gained_from_independence<32>(h, k, rho);
  return std::max(0.0, independent + gained);
}

}  // namespace

double bivariate_upper(double a, double b, double rho) {
  if (std::isnan(a) || std::isnan(b) || std::isnan(rho)) return std::numeric_limits<double>::quiet_NaN();
  constexpr double kEnd = 38.5;  // no double holds a tail beyond it
  if (a > kEnd || b > kEnd) return 0.0;
  if (a < -kEnd) return complement(b);
  if (b < -kEnd) return complement(a);
  return upper_finite(a, b, std::clamp(rho, -1.0, 1.0));
}

Bivariate bivariate(double a, double b, double rho) {
  const double p = bivariate_upper(-a, -b, rho);
  const double qa = complement(a), qb = complement(b), both = bivariate_upper(a, b, rho);
  // The union is at least the larger tail, so little is lost in taking what is common from the smaller one.
  const double q = std::max(qa, qb) + std::max(0.0, std::min(qa, qb) - both);
  return {p, q};
}

}  // namespace probust::normal
