// SPDX-License-Identifier: MIT
//
// The fit: Harman and Jones, "Factor analysis by minimizing residuals (minres)", Psychometrika 31 (1966). Plackett, "A reduction
// formula for normal multivariate integrals", Biometrika 41 (1954): dp / dR_ij = d2p / dz_i dz_j. Along R(t) = R0 + t E, with E
// zero on the diagonal, p(t) is therefore exp(t L) p with L = 1/2 sum_ij E_ij d_i d_j.
#include "probust/normal/neighbour.h"

#include <algorithm>
#include <cmath>

#include "probust/normal/vector_math.h"

namespace probust::normal {
namespace {

/// The numbers per variable that the integrand needs given T, padded to whole blocks of lanes with limits that are never
/// exceeded.
struct Given {
  std::span<Lanes> limit, slope, inverse;  ///< z / s, a / s, 1 / s
  std::span<Lanes> r, d;                   ///< first and second derivatives of log Phi(x_i) with respect to z_i
};

Given prepare(const Orthant& orthant, std::span<const double> loading, Arena& arena) {
  const std::size_t blocks = (loading.size() + kLanes - 1) / kLanes;
  Given given{arena.take<Lanes>(blocks), arena.take<Lanes>(blocks), arena.take<Lanes>(blocks), arena.take<Lanes>(blocks),
              arena.take<Lanes>(blocks)};
  for (std::size_t b = 0; b < blocks; ++b) {
    given.limit[b].fill(rational::kFar);
    given.slope[b].fill(0.0);
    given.inverse[b].fill(0.0);
  }
  for (std::size_t i = 0; i < loading.size(); ++i) {
    const double inverse = 1.0 / std::sqrt((1.0 - loading[i]) * (1.0 + loading[i]));
    given.limit[i / kLanes][i % kLanes] = orthant.z(static_cast<Eigen::Index>(i)) * inverse;
    given.slope[i / kLanes][i % kLanes] = loading[i] * inverse;
    given.inverse[i / kLanes][i % kLanes] = inverse;
  }
  return given;
}

/// Returns the product P of the probabilities given T = t, and sets the derivatives of its logarithm.
double condition(const Given& given, double t) {
  double product = 1.0;
  Lanes x, density, below;
  for (std::size_t b = 0; b < given.limit.size(); ++b) {
    for (int i = 0; i < kLanes; ++i) x[i] = given.limit[b][i] - given.slope[b][i] * t;
    density_lanes(x, density, below);
    for (int i = 0; i < kLanes; ++i) {
      const double ratio = density[i] / below[i] * given.inverse[b][i];
      given.r[b][i] = ratio;
      given.d[b][i] = -ratio * (x[i] * given.inverse[b][i] + ratio);
    }
    for (const double each : below) product *= each;
  }
  return product;
}

struct BoundTerms {
  double first, second;  ///< L P / P and 1/2 L^2 P / P
};

/// With g = 1/2 r^T E r and F_ij = E_ij^2: L P = P g and 1/2 L^2 P = P (1/2 g^2 + 1/2 sum_i d_i (E r)_i^2 + 1/4 d^T F d), because
/// P is the exponential of a sum of functions of one limit each.
BoundTerms terms(const Orthant& residual, const double* r, const double* d) {
  double g = 0.0, chains = 0.0, pairs = 0.0;
  for (Eigen::Index j = 0; j < residual.size; ++j) {
    const double* const e = residual.column(j);
    // Eight independent sums, so that the loop vectorises.
    constexpr Eigen::Index kSide = 8;
    double Er[kSide] = {}, Fd[kSide] = {};
    for (Eigen::Index i = 0; i < residual.stride; i += kSide) {
      for (Eigen::Index k = 0; k < kSide; ++k) {
        Er[k] += e[i + k] * r[i + k];
        Fd[k] += e[i + k] * e[i + k] * d[i + k];
      }
    }
    double row = 0.0, squares = 0.0;
    for (Eigen::Index k = 0; k < kSide; ++k) row += Er[k], squares += Fd[k];
    g += r[j] * row;
    chains += d[j] * row * row;
    pairs += d[j] * squares;
  }
  g *= 0.5;
  return {g, 0.5 * g * g + 0.5 * chains + 0.25 * pairs};
}

/// R - a a^T off the diagonal, with columns padded with zeros to whole blocks of lanes.
Orthant residual_matrix(const Orthant& orthant, std::span<const double> loading, Arena& arena) {
  const Eigen::Index m = orthant.size, stride = (m + kLanes - 1) / kLanes * kLanes;
  const std::span<double> all = arena.take<double>(m * stride, 0.0);
  for (Eigen::Index j = 0; j < m; ++j) {
    for (Eigen::Index i = 0; i < m; ++i) all[j * stride + i] = i == j ? 0.0 : orthant.rho(i, j) - loading[i] * loading[j];
  }
  return {m, nullptr, all.data(), stride};
}

/// The leading eigenvector, scaled so that equal correlations are fitted in one step, by the power method started from the column
/// with the largest sum of squares.
void lead(const Orthant& orthant, std::span<double> a, Arena& arena) {
  constexpr int kRounds = 10;
  const Arena::Scope scope(arena);
  const Eigen::Index m = orthant.size;
  Eigen::Map<Eigen::VectorXd> v(a.data(), m), image(arena.take<double>(m).data(), m);
  Eigen::Index widest = 0;
  for (Eigen::Index j = 1; j < m; ++j) {
    if (VectorView(orthant.column(j), m).squaredNorm() > VectorView(orthant.column(widest), m).squaredNorm()) widest = j;
  }
  v = VectorView(orthant.column(widest), m);
  v /= v.norm();
  double eigenvalue = 1.0;
  for (int round = 0; round < kRounds; ++round) {
    image.setZero();
    for (Eigen::Index j = 0; j < m; ++j) image += v[j] * VectorView(orthant.column(j), m);
    eigenvalue = image.norm();
    v = image / eigenvalue;
  }
  v *= std::sqrt(std::max(0.0, eigenvalue - 1.0) * static_cast<double>(m) / static_cast<double>(m - 1));
}

}  // namespace

std::span<const double> nearest_one_factor(const Orthant& orthant, double largest, double settled, Arena& arena) {
  constexpr int kSweeps = 200;
  const Eigen::Index m = orthant.size;
  const std::span<double> a = arena.take<double>(m, 0.0);
  if (m < 2) return a;
  lead(orthant, a, arena);
  for (double& each : a) each = std::clamp(each, -largest, largest);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double change = 0.0;
    double squares = VectorView(a.data(), m).squaredNorm();
    for (Eigen::Index j = 0; j < m; ++j) {
      const double others = squares - a[j] * a[j];
      if (!(others > 1e-200)) continue;
      const double dot = VectorView(orthant.column(j), m).dot(VectorView(a.data(), m)) - orthant.rho(j, j) * a[j];
      const double fresh = std::clamp(dot / others, -largest, largest);
      change = std::max(change, std::abs(fresh - a[j]));
      a[j] = fresh;
      squares = others + fresh * fresh;
    }
    if (change <= settled) break;
  }
  return a;
}

Expansion expand_one_factor(const Orthant& orthant, std::span<const double> loading, Arena& arena) {
  // The trapezoidal rule: for a smooth integrand on the whole line, halving the step squares its error.
  constexpr double kReach = 8.5, kNegligible = 1e-18, kEnough = 1e-8;
  const Arena::Scope scope(arena);
  const Given given = prepare(orthant, loading, arena);
  const Orthant residual = residual_matrix(orthant, loading, arena);
  Expansion sum{0.0, 0.0, 0.0, 0.0};
  const auto add = [&](double t) {
    const double weight = 0.3989422804014327 * std::exp(-0.5 * t * t) * condition(given, t);
    if (weight < kNegligible) return;
    const BoundTerms both = terms(residual, given.r[0].data(), given.d[0].data());
    sum.zeroth += weight;
    sum.first += weight * both.first;
    sum.second += weight * both.second;
  };
  double step = 0.5;
  for (double t = -kReach; t <= kReach; t += step) add(t);
  for (int halvings = 0; halvings < 6; ++halvings) {
    const Expansion before = sum;
    for (double t = -kReach + 0.5 * step; t <= kReach; t += step) add(t);
    const double gap = std::max({std::abs(0.5 * sum.zeroth - before.zeroth), std::abs(0.5 * sum.first - before.first),
                                 std::abs(0.5 * sum.second - before.second)});
    sum.error = gap * step;
    step *= 0.5;
    if (sum.error <= kEnough) break;
  }
  return {sum.zeroth * step, sum.first * step, sum.second * step, sum.error};
}

}  // namespace probust::normal
