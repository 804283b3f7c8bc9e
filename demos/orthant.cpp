// SPDX-License-Identifier: MIT
// Compares probust's orthant probabilities P(X_1 <= 0, ..., X_m <= 0) with known values. Exits with status 1 if one differs by
// more than its error bound.
//
// The known values are from Sheppard, Phil. Trans. A 192 (1899), for two variables; David, Biometrika 40 (1953), for three; and
// Gupta, "Probability integrals of multivariate normal and multivariate t", Ann. Math. Statist. 34 (1963), for equal
// correlations.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <numbers>
#include <string>
#include <vector>

#include "probust/normal/multivariate.h"
#include "probust/normal/univariate.h"

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using probust::normal::Probability;

constexpr double kPi = std::numbers::pi;

struct Case {
  std::string name;
  double known;
  Index m;
  Probability ours;
};

std::vector<double> zeros(Index m) { return std::vector<double>(static_cast<std::size_t>(m), 0.0); }

Case from_correlations(const std::string& name, double known, const MatrixXd& R) {
  return {name, known, R.rows(), probust::normal::mvn_cdf(zeros(R.rows()), R)};
}

Case from_factor(const std::string& name, double known, const MatrixXd& U) {
  return {name, known, U.rows(), probust::normal::mvn_cdf_factor(zeros(U.rows()), U)};
}

MatrixXd equicorrelated(Index m, double rho) {
  MatrixXd R = MatrixXd::Constant(m, m, rho);
  R.diagonal().setOnes();
  return R;
}

/// The orthant probability for equal correlations rho. Given the common factor, all variables are independent, so only one
/// integral remains, which the trapezoidal rule computes.
double equicorrelated_orthant(Index m, double rho) {
  const double slope = std::sqrt(rho / (1 - rho)), step = 0.01;
  double sum = 0.0;
  for (int k = -1000; k <= 1000; ++k) {
    const double t = step * k;
    sum += step * probust::normal::pdf(t) * std::pow(probust::normal::cdf(slope * t), static_cast<double>(m));
  }
  return sum;
}

/// The correlations of X_i = (Y_i - Y_{i+1}) / sqrt 2 with independent Y. All X_i are at most 0 if the m + 1 values Y are in
/// ascending order.
MatrixXd differences(Index m) {
  MatrixXd R = MatrixXd::Identity(m, m);
  for (Index i = 1; i < m; ++i) R(i, i - 1) = R(i - 1, i) = -0.5;
  return R;
}

/// m directions in the plane, spread evenly over an angle below pi. Excluding their half-planes leaves a wedge of pi - angle.
MatrixXd fan(Index m, double angle) {
  MatrixXd U(m, 2);
  for (Index i = 0; i < m; ++i) {
    const double at = angle * static_cast<double>(i) / static_cast<double>(m - 1);
    U.row(i) << std::cos(at), std::sin(at);
  }
  return U;
}

std::vector<Case> known_cases() {
  std::vector<Case> cases;
  for (const double rho : {-0.9, 0.3, 0.999}) {
    const double known = 0.25 + std::asin(rho) / (2 * kPi);
    cases.push_back(from_correlations(fmt::format("pair, rho {}", rho), known, equicorrelated(2, rho)));
  }
  const MatrixXd three{{1, 0.3, -0.5}, {0.3, 1, 0.4}, {-0.5, 0.4, 1}};
  const double angles = std::asin(0.3) + std::asin(-0.5) + std::asin(0.4);
  cases.push_back(from_correlations("three: .3, -.5, .4", 0.125 + angles / (4 * kPi), three));
  for (const Index m : {3, 9, 99, 999})
    cases.push_back(from_correlations("equal, rho 1/2: 1 / (m + 1)", 1.0 / static_cast<double>(m + 1), equicorrelated(m, 0.5)));
  for (const double rho : {0.1, 0.9})
    cases.push_back(from_correlations(fmt::format("equal, rho {}: an integral", rho), equicorrelated_orthant(20, rho),
                                      equicorrelated(20, rho)));
  for (const Index m : {10, 50})
    cases.push_back(from_correlations("independent: 2^-m", std::exp2(-static_cast<double>(m)), MatrixXd::Identity(m, m)));
  for (const Index m : {3, 4, 6, 8})
    cases.push_back(from_correlations("ascending: 1 / (m + 1)!", 1.0 / std::tgamma(static_cast<double>(m + 2)), differences(m)));
  for (const Index m : {5, 50}) cases.push_back(from_factor("wedge in the plane, 72 degrees", 0.2, fan(m, 0.6 * kPi)));
  for (const Index m : {3, 4, 8})
    cases.push_back(from_correlations("simplex around 0: empty", 0.0, equicorrelated(m, -1.0 / static_cast<double>(m - 1))));
  return cases;
}

bool agrees(const Case& one) {
  constexpr double kRounding = 1e-14;
  return one.ours.status == probust::normal::Status::ok && std::abs(one.ours.p - one.known) <= one.ours.error + kRounding;
}

}  // namespace

int main() {
  std::printf("%-32s %4s  %-14s %-14s %8s %8s  %s\n", "P(X <= 0)", "m", "known", "ours", "off by", "error", "method");
  bool good = true;
  for (const Case& one : known_cases()) {
    std::printf("%-32s %4d  %-14.8g %-14.8g %8.1e %8.1e  %s%s\n", one.name.c_str(), static_cast<int>(one.m), one.known,
                one.ours.p, std::abs(one.ours.p - one.known), one.ours.error, std::string(one.ours.method).c_str(),
                agrees(one) ? "" : "  <-- off");
    good = good && agrees(one);
  }
  return good ? 0 : 1;
}
