// SPDX-License-Identifier: MIT
//
// Along R(t) = R0 + t E, with R0 of one factor and R(1) = R, let f(t) be the integrand of Genz (1992) at one point. Then
//
//     p(1) = p(0) + p'(0) + p''(0) / 2 + E[ f(1) - f(0) - f'(0) - f''(0) / 2 ],
//
// where the first three terms are exact (Plackett 1954) and the bracket is small at every point. Derivatives of f are finite
// differences with step h. Their expectations differ from the exact terms by h^2 times terms of third order, which the reported
// error includes.
#include "probust/normal/controlled.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "probust/base/linear_algebra.h"
#include "probust/normal/factor.h"
#include "probust/normal/lattice.h"
#include "probust/normal/limits.h"
#include "probust/normal/neighbour.h"
#include "probust/normal/ordering.h"
#include "probust/normal/univariate.h"
#include "probust/normal/vector_math.h"

namespace probust::normal {
namespace {

using Eigen::Index;

constexpr double kStep = 1.0 / 64;
constexpr double kLargestLoading = 0.97;  ///< for larger loadings, terms of the expansion grow without bound
/// Rounding error of differences divided by kStep^2, plus the error of the expansion.
constexpr double kRounding = 1e-11;
constexpr int kIntegrands = 4;  ///< for R, and for R(t) at -kStep, 0 and kStep

/// The integrand for one Cholesky factor. Each row is divided by its diagonal entry, and rows are stored one after another.
class Integrand {
 public:
  Integrand() = default;
  Integrand(Index size, Arena& arena)
      : limits_(arena.take<double>(size)), rows_(arena.take<double>(size * (size - 1) / 2)), y_(arena.take<Lanes>(size)) {}

  double& limit(Index row) { return limits_[row]; }
  double& entry(Index row, Index column) { return rows_[row * (row - 1) / 2 + column]; }

  /// Starts a block of points.
  void start() { value_.fill(1.0); }

  /// Samples variable `row` at the points u. For the last variable, only multiplies by its probability.
  void advance(Index row, const Lanes& u) {
    Lanes at, below, above, inner;
    at.fill(limits_[row]);
    const double* const entries = rows_.data() + row * (row - 1) / 2;
    for (Index column = 0; column < row; ++column) {
      const double factor = -entries[column];
      const Lanes& y = y_[column];
      for (int i = 0; i < kLanes; ++i) at[i] = rational::multiply_add(factor, y[i], at[i]);
    }
    cdf_lanes(at, below, above);
    for (int i = 0; i < kLanes; ++i) {
      value_[i] *= below[i];
      inner[i] = u[i] * below[i];
    }
    if (row + 1 < static_cast<Index>(limits_.size())) quantile_lanes(inner, y_[row]);
  }

  const Lanes& value() const { return value_; }

 private:
  std::span<double> limits_, rows_;
  std::span<Lanes> y_;
  Lanes value_;
};

/// The variables in the order of separation.h, the most restrictive first, and the factor of R in that order. Empty if R is
/// nearly singular.
struct Arrangement {
  std::span<Index> order;
  Integrand integrand;
};

std::optional<Arrangement> arrange(const Orthant& orthant, Arena& arena) {
  constexpr double kLeastResidual = 0.01;  // if smaller, R is nearly singular: bounds are steep and need many points
  const Index m = orthant.size;
  GrowingCholesky cholesky(orthant, arena);
  const std::span<double> slack = arena.take<double>(m);
  std::copy_n(orthant.limits, m, slack.begin());
  const std::span<Index> order = arena.take<Index>(m);
  for (Index c = 0; c < m; ++c) {
    const Index pivot = most_binding(cholesky, slack);
    if (pivot < 0 || cholesky.residual(pivot) < kLeastResidual) return std::nullopt;
    order[c] = pivot;
    cholesky.take(pivot);
    const double bound = slack[pivot] / cholesky.entry(pivot, c);
    settle(cholesky, c, confined_mean(-kInfinity, bound), slack);
  }
  Arrangement arrangement{order, Integrand(m, arena)};
  for (Index r = 0; r < m; ++r) {
    const double inverse = 1.0 / cholesky.entry(order[r], r);
    arrangement.integrand.limit(r) = orthant.z(order[r]) * inverse;
    for (Index c = 0; c < r; ++c) arrangement.integrand.entry(r, c) = cholesky.entry(order[r], c) * inverse;
  }
  return arrangement;
}

/// The integrand for R(t), with the variables in the given order.
std::optional<Integrand> along(double t, const Orthant& orthant, std::span<const double> loading, std::span<const Index> order,
                               Arena& arena) {
  const Index m = orthant.size;
  Eigen::Map<Eigen::MatrixXd> L(arena.take<double>(m * m).data(), m, m);
  for (Index c = 0; c < m; ++c) {
    L(c, c) = 1.0;
    for (Index r = c + 1; r < m; ++r) {
      L(r, c) = (1.0 - t) * loading[order[r]] * loading[order[c]] + t * orthant.rho(order[r], order[c]);
    }
  }
  if (!cholesky_in_place(L)) return std::nullopt;
  Integrand integrand(m, arena);
  for (Index r = 0; r < m; ++r) {
    integrand.limit(r) = orthant.z(order[r]) / L(r, r);
  }
  for (Index r = 0; r < m; ++r) {
    const double inverse = 1.0 / L(r, r);
    for (Index c = 0; c < r; ++c) integrand.entry(r, c) = L(r, c) * inverse;
  }
  return integrand;
}

/// The variance of an integrand, from the first points.
struct Scatter {
  double sum = 0.0, squares = 0.0;
  void add(double x) {
    sum += x;
    squares += x * x;
  }
  double variance(double n) const { return squares - sum * sum / n; }
};

}  // namespace

std::optional<Controlled> controlled_separation(const Orthant& orthant, const Goal& goal, double affordable, Arena& arena) {
  constexpr std::int64_t kFirstLevel = 8;
  constexpr double kPays = 16.0;  // required reduction of the variance, which must outweigh the cost of four integrands
  const Arena::Scope scope(arena);
  const auto arrangement = arrange(orthant, arena);
  if (!arrangement) return std::nullopt;
  const std::span<const double> loading = nearest_one_factor(orthant, kLargestLoading, 1e-3, arena);
  const Expansion known = expand_one_factor(orthant, loading, arena);
  std::array<Integrand, kIntegrands> at = {arrangement->integrand};
  for (int k = 1; k < kIntegrands; ++k) {
    const auto integrand = along(kStep * (k - 2), orthant, loading, arrangement->order, arena);
    if (!integrand) return std::nullopt;
    at[k] = *integrand;
  }

  const Index m = orthant.size;
  const ShiftedLattice lattice(static_cast<int>(m), goal.seed, arena);
  LatticeMean mean(kFirstLevel);
  Scatter plain, rest;
  const auto evaluate = [&](const ShiftedLattice::Block& block, Lanes& remainder, Lanes& complement_of_it) {
    Lanes u;
    for (Integrand& integrand : at) integrand.start();
    for (Index c = 0; c < m; ++c) {
      if (c + 1 < m) lattice.coordinate(static_cast<int>(c), block, u);
      for (Integrand& integrand : at) integrand.advance(c, u);
    }
    const Lanes &f = at[0].value(), &before = at[1].value(), &here = at[2].value(), &after = at[3].value();
    for (int i = 0; i < kLanes; ++i) {
      const double slope = (after[i] - before[i]) / (2.0 * kStep);
      const double bend = (after[i] - 2.0 * here[i] + before[i]) / (2.0 * kStep * kStep);
      remainder[i] = f[i] - here[i] - slope - bend;
      complement_of_it[i] = 1.0 - remainder[i];
      plain.add(f[i]);
      rest.add(remainder[i]);
    }
  };
  const auto answer = [&]() -> Controlled {
    const double error =
        kErrorFactor * mean.standard_error() + 3.0 * known.error + kStep * kStep * std::abs(mean.p()) + kRounding;
    return {known.zeroth + known.first + known.second + mean.p(), error, kIntegrands * mean.points()};
  };

  mean.refine(evaluate, goal.stop);
  const double n = static_cast<double>(mean.points());
  if (kPays * rest.variance(n) > plain.variance(n)) return std::nullopt;
  // With this many variables in the remainder, its mean does not converge faster than with random samples.
  const double excess = kErrorFactor * std::sqrt(rest.variance(n)) / n / goal.target(1.0 - answer().p);
  if (n * excess * excess > affordable) return std::nullopt;
  while (answer().error > goal.target(1.0 - answer().p) && !mean.exhausted() &&
         kIntegrands * (mean.points() + mean.next_points()) <= goal.max_points) {
    mean.refine(evaluate, goal.stop);
  }
  return answer();
}

}  // namespace probust::normal
