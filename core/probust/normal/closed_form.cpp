// SPDX-License-Identifier: MIT
//
// Plackett, "A reduction formula for normal multivariate integrals", Biometrika 41 (1954): dp / dR_ij = d2p / dz_i dz_j. Along
// R(t) = R0 + t E, with E zero on the diagonal, p(t) is therefore exp(t L) p with L = 1/2 sum_ij E_ij d_i d_j.
#include <algorithm>
#include <cmath>

#include "probust/normal/lanes.h"
#include "probust/normal/neighbour.h"

namespace probust::normal {
namespace {

constexpr double kMostLoading = 0.97;  // beyond, the expansion's terms grow without bound

/// What the integrand needs of each variable given T, padded to whole lanes with limits that nothing exceeds.
struct Given {
  std::span<Lanes> limit, slope, inverse;  ///< z / s, a / s, 1 / s
  std::span<Lanes> ratio, curve;           ///< d_i Phi / Phi and d_i^2 Phi / Phi
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

/// The product of the probabilities given T = t; fills ratios and curves.
double condition(const Given& given, double t) {
  double product = 1.0;
  Lanes x, density, below;
  for (std::size_t b = 0; b < given.limit.size(); ++b) {
    for (int i = 0; i < kLanes; ++i) x[i] = given.limit[b][i] - given.slope[b][i] * t;
    density_lanes(x, density, below);
    for (int i = 0; i < kLanes; ++i) {
      const double ratio = density[i] / below[i] * given.inverse[b][i];
      given.ratio[b][i] = ratio;
      given.curve[b][i] = -x[i] * ratio * given.inverse[b][i];
    }
    for (const double each : below) product *= each;
  }
  return product;
}

struct Terms {
  double first, second;  ///< L p / p and 1/2 L^2 p / p
};

/// L^2 sums E_ij E_kl d_i d_j d_k d_l: all four indices different, or one or both of a pair shared.
Terms terms(const Orthant& residual, const double* ratio, const double* curve) {
  const Eigen::Index m = residual.size;
  double all = 0.0, one_shared = 0.0, both_shared = 0.0;
  for (Eigen::Index j = 0; j < m; ++j) {
    const double* const e = residual.column(j);
    // Eight sums side by side, so that the loops become vector instructions.
    constexpr Eigen::Index kSide = 8;
    double row[kSide] = {}, squares[kSide] = {}, curves[kSide] = {};
    for (Eigen::Index i = 0; i < residual.stride; i += kSide) {
      for (Eigen::Index k = 0; k < kSide; ++k) {
        const double er = e[i + k] * ratio[i + k];
        row[k] += er;
        squares[k] += er * er;
        curves[k] += e[i + k] * e[i + k] * curve[i + k];
      }
    }
    double sum = 0.0, square = 0.0, curved = 0.0;
    for (Eigen::Index k = 0; k < kSide; ++k) sum += row[k], square += squares[k], curved += curves[k];
    const double own = ratio[j] * ratio[j];
    all += ratio[j] * sum;
    one_shared += (curve[j] - own) * (sum * sum - square);
    both_shared += curve[j] * curved - own * square;
  }
  return {0.5 * all, 0.125 * (all * all + 4.0 * one_shared + 2.0 * both_shared)};
}

/// R - a a^T off the diagonal, columns padded with zeros to whole lanes.
Orthant residual_matrix(const Orthant& orthant, std::span<const double> loading, Arena& arena) {
  const Eigen::Index m = orthant.size, stride = (m + kLanes - 1) / kLanes * kLanes;
  const std::span<double> all = arena.take<double>(m * stride, 0.0);
  for (Eigen::Index j = 0; j < m; ++j) {
    for (Eigen::Index i = 0; i < m; ++i) all[j * stride + i] = i == j ? 0.0 : orthant.rho(i, j) - loading[i] * loading[j];
  }
  return {m, nullptr, all.data(), stride};
}

}  // namespace

std::span<const double> nearest_one_factor(const Orthant& orthant, Arena& arena) {
  constexpr int kSweeps = 12;
  const Eigen::Index m = orthant.size;
  const std::span<double> a = arena.take<double>(m);
  // Start from the column that has most in common with the others: it has the signs right.
  Eigen::Index widest = 0;
  double most = -1.0;
  for (Eigen::Index j = 0; j < m; ++j) {
    double sum = 0.0;
    for (Eigen::Index i = 0; i < m; ++i) sum += std::abs(orthant.rho(i, j));
    if (sum > most) most = sum, widest = j;
  }
  const double scale = std::sqrt(std::max(most - 1.0, 1e-3) / static_cast<double>(std::max<Eigen::Index>(m - 1, 1)));
  for (Eigen::Index i = 0; i < m; ++i) a[i] = std::clamp(orthant.rho(i, widest) / scale, -kMostLoading, kMostLoading);
  a[widest] = std::clamp(scale, 0.0, kMostLoading);
  double squares = 0.0;
  for (const double each : a) squares += each * each;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (Eigen::Index j = 0; j < m; ++j) {
      const double others = squares - a[j] * a[j];
      if (!(others > 0.0)) continue;
      const double dot = VectorView(orthant.column(j), m).dot(VectorView(a.data(), m)) - orthant.rho(j, j) * a[j];
      a[j] = std::clamp(dot / others, -kMostLoading, kMostLoading);
      squares = others + a[j] * a[j];
    }
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
    const Terms both = terms(residual, given.ratio[0].data(), given.curve[0].data());
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
