// SPDX-License-Identifier: MIT
//
// Dunnett and Sobel, "Approximations to the probability integral and certain percentage points of a multivariate analogue of
// Student's t-distribution", Biometrika 42 (1955): one factor.
// Plackett, "A reduction formula for normal multivariate integrals", Biometrika 41 (1954): dp / dR_ij = d^2 p / dz_i dz_j.
// Trefethen and Weideman, "The exponentially convergent trapezoidal rule", SIAM Review 56 (2014).
//
// Let E = R - a a^T off the diagonal and 0 on it. By Plackett, p for a a^T + tau E has the derivatives L p, L^2 p, ... at
// tau = 0, with L = 1/2 sum_ij E_ij d/dz_i d/dz_j. Given T = t the one-factor p is a product P = prod_i Phi(x_i) with
// x_i = (z_i - a_i t) / s_i, s_i^2 = 1 - a_i^2. With the derivatives of log Phi(x_i) with respect to z_i,
//
//     r_i = phi(x_i) / (s_i Phi(x_i)),   d_i = -r_i (x_i / s_i + r_i),   g = 1/2 r^T E r,   F_ij = E_ij^2,
//
// the two corrections are
//
//     L P         = P g,
//     1/2 L^2 P   = P { 1/2 g^2 + 1/2 sum_i d_i (E r)_i^2 + 1/4 d^T F d },
//
// averaged over T. (P is an exponential of a sum of functions of one z_i each, so L^2 P is a sum over pairs of pairs, which share
// no index, one or two.)
#include "probust/normal/closed_form.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "probust/normal/limits.h"
#include "probust/normal/neighbour.h"
#include "probust/normal/rational.h"
#include "probust/normal/univariate.h"

namespace probust::normal {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kLoadingLimit = 0.999;
constexpr double kQuadrature = 1e-7;  ///< error of the trapezoidal rule, relative to p_fail

// ---- conditions on the input

/// Checks R with the conditions of mvn_cdf by calling it with infinite limits, which takes no more time than the check.
Status check_correlation(const MatrixXd& R) {
  return mvn_cdf(std::vector<double>(static_cast<std::size_t>(R.rows()), kInfinity), R).status;
}

Status check_loading(const VectorXd& loading, std::size_t m) {
  if (loading.size() != static_cast<Index>(m)) return Status::size_mismatch;
  return loading.allFinite() ? Status::ok : Status::nonfinite;
}

bool impossible(std::span<const double> z) { return std::find(z.begin(), z.end(), -kInfinity) != z.end(); }

using Indices = Eigen::VectorX<Index>;

Indices finite_limits(std::span<const double> z) {
  Indices kept(static_cast<Index>(z.size()));
  Index count = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (z[i] < kInfinity) kept[count++] = static_cast<Index>(i);
  }
  kept.conservativeResize(count);
  return kept;
}

/// Limits are clamped to +-40, because Phi does not change beyond that in double precision.
VectorXd select_limits(std::span<const double> z, const Indices& kept) {
  constexpr double kFarthest = 40.0;
  const Eigen::Map<const VectorXd> all(z.data(), static_cast<Index>(z.size()));
  return all(kept).cwiseMax(-kFarthest).cwiseMin(kFarthest);
}

VectorXd select_loading(const VectorXd& loading, const Indices& kept) {
  return loading(kept).cwiseMax(-kLoadingLimit).cwiseMin(kLoadingLimit);
}

// ---- the fit

VectorXd fit_loading(const MatrixXd& R) {
  constexpr double kSettled = 1e-12;
  Arena arena;
  const Orthant orthant{R.rows(), nullptr, R.data(), R.rows()};
  return VectorView(nearest_one_factor(orthant, kLoadingLimit, kSettled, arena).data(), R.rows());
}

MatrixXd residual(const MatrixXd& R, const VectorXd& loading) {
  MatrixXd E = R - loading * loading.transpose();
  E.diagonal().setZero();
  return E;
}

// ---- the integral over the factor

/// The integrand at the nodes of the trapezoidal rule; matrices are nodes x variables.
struct Nodes {
  ArrayXd kept;    ///< weight times P
  ArrayXd failed;  ///< weight times 1 - P, computed directly
  ArrayXXd r, d;   ///< first and second derivatives of log Phi(x_i) with respect to z_i
};

/// The step resolves the steepest factor, of width `least_s`, and also the product of many factors, which is steeper than each of
/// them.
ArrayXd factor_nodes(const VectorXd& z, double least_s) {
  const double step = 0.6 * least_s / std::sqrt(1.0 + 0.5 * std::log(static_cast<double>(z.size())));
  const double reach = std::clamp(quantile_complement(1e-17 * std::max(complement(z.minCoeff()), 1e-285)), 8.5, 38.0);
  const Index half = static_cast<Index>(std::ceil(reach / step));
  return ArrayXd::LinSpaced(2 * half + 1, -reach, reach);
}

/// Multiplies the probability of variable i into the products, and sets its derivatives. A single loop without branches or
/// calls.
void add_variable(const ArrayXd& t, double z, double loading, double s, Index i, Nodes& nodes) {
  double* const r = nodes.r.col(i).data();
  double* const d = nodes.d.col(i).data();
  double* const kept = nodes.kept.data();
  double* const failed = nodes.failed.data();
  for (Index k = 0; k < t.size(); ++k) {
    const double x = std::min(std::max((z - loading * t[k]) / s, -rational::kFar), rational::kFar);
    const double distance = std::abs(x);
    const double mills = rational::mills_ratio(distance);
    const double density = rational::density(distance);
    const double tail = density * mills, rest = 1.0 - tail;
    const double below = x < 0.0 ? tail : rest, above = x < 0.0 ? rest : tail;
    const double top = x < 0.0 ? 1.0 : density, bottom = x < 0.0 ? mills : rest;
    const double ratio = top / bottom;  // phi / Phi, also if both underflow
    r[k] = ratio / s;
    d[k] = -ratio * (x + ratio) / (s * s);
    failed[k] += kept[k] * above;
    kept[k] *= below;
  }
}

Nodes evaluate(const VectorXd& z, const VectorXd& loading) {
  const ArrayXd s = ((1.0 - loading.array()) * (1.0 + loading.array())).sqrt();
  const ArrayXd t = factor_nodes(z, s.minCoeff());
  const double step = t[1] - t[0];
  Nodes nodes{step / std::sqrt(2.0 * std::numbers::pi) * (-0.5 * t.square()).exp(), ArrayXd::Zero(t.size()),
              ArrayXXd(t.size(), z.size()), ArrayXXd(t.size(), z.size())};
  for (Index i = 0; i < z.size(); ++i) add_variable(t, z[i], loading[i], s[i], i, nodes);
  return nodes;
}

// ---- the corrections

struct Corrections {
  MatrixXd Er, Fd;        ///< E r and F d, nodes x variables
  ArrayXd first, second;  ///< relative to P, one per node
  double size;            ///< magnitude of the second-order terms, before they cancel
};

Corrections correct(const Nodes& nodes, const MatrixXd& E) {
  Corrections c{nodes.r.matrix() * E, nodes.d.matrix() * E.cwiseAbs2(), {}, {}, 0.0};
  c.first = 0.5 * (nodes.r * c.Er.array()).rowwise().sum();
  const ArrayXd squares = 0.5 * c.first.square();
  const ArrayXd chains = 0.5 * (nodes.d * c.Er.array().square()).rowwise().sum();  // never positive
  const ArrayXd pairs = 0.25 * (nodes.d * c.Fd.array()).rowwise().sum();           // never negative
  c.second = squares + chains + pairs;
  c.size = (nodes.kept * (squares - chains + pairs)).sum();
  return c;
}

double bounded_exp(double x) { return rational::exp(std::max(x, -700.0)); }

/// The remainder of the Taylor series after two terms, for pairs alone: the sum over i < j of
///
///     integral from a_i a_j to R_ij of phi_2(z_i, z_j; rho) d rho,
///
/// as if the rest of the integrand were a parabola. If failure is rare this is most of the error, and the series converges
/// slowly: its terms grow with powers of z_i z_j.
double pair_remainder(const VectorXd& z, const VectorXd& loading, const MatrixXd& E) {
  constexpr double kLeast = 1e-12;  // lower limit of 1 - rho^2
  double sum = 0.0;
  for (Index j = 1; j < z.size(); ++j) {
    for (Index i = 0; i < j; ++i) {
      const double product = z[i] * z[j], squares = z[i] * z[i] + z[j] * z[j];
      const double from = loading[i] * loading[j], to = from + E(i, j);
      const double s2 = (1.0 - from) * (1.0 + from), end_s2 = std::max((1.0 - to) * (1.0 + to), kLeast);
      const double start = bounded_exp((from * product - 0.5 * squares) / s2) / std::sqrt(s2);
      const double end = bounded_exp((to * product - 0.5 * squares) / end_s2) / std::sqrt(end_s2);
      const double slope = start * (from * s2 + product * (1.0 + from * from) - from * squares) / (s2 * s2);
      sum += E(i, j) * (end - start - slope * E(i, j));
    }
  }
  return sum / (6.0 * std::numbers::pi);
}

/// The size of the next order, as if the series were geometric with the ratio that the second order suggests, plus the remainder
/// of the pairs.
double estimate_error(double p, double p_fail, double size, double remainder) {
  const double ratio = std::sqrt(size / std::min(p, p_fail));
  if (!(ratio < 1.0)) return 1.0;
  return std::min(1.0, size * ratio / (1.0 - ratio) + std::abs(remainder) * p + kQuadrature * p_fail);
}

SecondOrder certain(double p) { return {p, 1.0 - p, 0.0, 0.0, 0.0, true, Status::ok}; }

SecondOrder no_terms(Status status) { return {kNan, kNan, kNan, kNan, kNan, false, status}; }

SecondOrder summarise(const Nodes& nodes, const Corrections& c, double remainder) {
  constexpr double kTrusted = 1e-3, kTrustedRelative = 0.05;
  const double first = (nodes.kept * c.first).sum(), second = (nodes.kept * c.second).sum();
  const double p = std::clamp(nodes.kept.sum() + first + second, 0.0, 1.0);
  const double p_fail = std::clamp(nodes.failed.sum() - first - second, 0.0, 1.0);
  const double error = estimate_error(p, p_fail, c.size, remainder);
  return {p, p_fail, first, second, error, error <= std::min(kTrusted, kTrustedRelative * p_fail), Status::ok};
}

// ---- the public functions

SecondOrder expand(std::span<const double> z, const MatrixXd& R, const VectorXd& loading) {
  if (impossible(z)) return certain(0.0);
  const Indices kept = finite_limits(z);
  if (kept.size() == 0) return certain(1.0);
  const VectorXd limits = select_limits(z, kept), a = select_loading(loading, kept);
  const MatrixXd E = residual(R(kept, kept), a);
  const Nodes nodes = evaluate(limits, a);
  const Corrections corrections = correct(nodes, E);
  return summarise(nodes, corrections, pair_remainder(limits, a, E));
}

Status check(std::span<const double> z, const MatrixXd& R) {
  if (R.rows() != static_cast<Index>(z.size())) return Status::size_mismatch;
  const Status status = check_correlation(R);
  return status == Status::ok ? check_limits(z) : status;
}

/// Loadings fitted to the correlations of variables with finite limits; other variables do not matter.
VectorXd fit_to_finite(std::span<const double> z, const MatrixXd& R) {
  const Indices kept = finite_limits(z);
  VectorXd loading = VectorXd::Zero(R.rows());
  loading(kept) = fit_loading(R(kept, kept));
  return loading;
}

// Does not throw, except std::bad_alloc.
SecondOrder value_of(std::span<const double> z, const MatrixXd& R, const VectorXd* loading) {
  try {
    Status status = check(z, R);
    if (status == Status::ok && loading != nullptr) status = check_loading(*loading, z.size());
    if (status != Status::ok) return no_terms(status);
    return expand(z, R, loading != nullptr ? *loading : fit_to_finite(z, R));
  } catch (...) {
    return no_terms(Status::out_of_memory);
  }
}

}  // namespace

SecondOrder second_order(std::span<const double> z, const MatrixXd& R) { return value_of(z, R, nullptr); }

SecondOrder second_order(std::span<const double> z, const MatrixXd& R, const VectorXd& loading) {
  return value_of(z, R, &loading);
}

}  // namespace probust::normal
