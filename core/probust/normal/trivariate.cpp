// SPDX-License-Identifier: MIT
//
// Conditioning on one variable x leaves a bivariate probability with its own correlation (as in Genz 2004, section 3, without
// Plackett's derivative): p is the integral of pdf(x) p2(x) up to z, and q = P(X > z) plus the integral of pdf(x) q2(x). Both
// integrands are positive, so neither cancels.
#include "probust/normal/trivariate.h"

#include <algorithm>
#include <cmath>

#include "probust/normal/bivariate.h"
#include "probust/normal/limits.h"
#include "probust/normal/univariate.h"

namespace probust::normal {
namespace {

/// A limit given the integration variable x: (z - r x) / s, or a step function if s = 0.
struct Conditional {
  double z, r, s;
  double at(double x) const {
    const double distance = z - r * x;
    if (s > 0.0) return distance / s;
    return distance >= 0.0 ? kInfinity : -kInfinity;
  }
};

Conditional condition(double z, double r) { return {z, r, std::sqrt(std::max(0.0, (1.0 - r) * (1.0 + r)))}; }

/// The positions at which a limit changes sharply, or at which it crosses the other limit or its mirror image.
Breaks sharp_places(const Conditional& one, const Conditional& two) {
  Breaks marks;
  for (const auto& line : {one, two}) {
    if (std::abs(line.r) < 0.7) continue;
    for (const double width : {-6.0, 0.0, 6.0}) marks.add((line.z + width * line.s) / line.r);
  }
  for (const double sign : {-1.0, 1.0}) {
    const double slope = one.r * two.s - sign * two.r * one.s;
    if (slope != 0.0) marks.add((one.z * two.s - sign * two.z * one.s) / slope);
  }
  return marks;
}

/// The variable that is least correlated with the others: conditioning on it gives the smoothest integrand.
int integration_variable(const Eigen::Matrix3d& R) {
  int best = 0;
  double least = kInfinity;
  for (int i = 0; i < 3; ++i) {
    const double strongest = std::max(std::abs(R(i, (i + 1) % 3)), std::abs(R(i, (i + 2) % 3)));
    if (strongest < least) least = strongest, best = i;
  }
  return best;
}

}  // namespace

Integral trivariate(const Eigen::Vector3d& z, const Eigen::Matrix3d& R) {
  const int c = integration_variable(R), i = (c + 1) % 3, j = (c + 2) % 3;
  const Conditional one = condition(z[i], R(i, c)), two = condition(z[j], R(j, c));
  const double scale = one.s * two.s;
  const double rho = scale > 0.0 ? std::clamp((R(i, j) - one.r * two.r) / scale, -1.0, 1.0) : 0.0;
  const auto integrand = [&](double x) {
    const Bivariate given = bivariate(one.at(x), two.at(x), rho);
    const double density = pdf(x);
    return Bivariate{density * given.p, density * given.q};
  };
  constexpr int kMostPanels = 1000;
  const double floor = std::max({complement(z[0]), complement(z[1]), complement(z[2])});
  Integral result = integrate(integrand, density_panels(z[c], floor, sharp_places(one, two).all()), floor, kMostPanels);
  result.q += complement(z[c]);
  return result;
}

}  // namespace probust::normal
