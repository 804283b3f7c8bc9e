// SPDX-License-Identifier: MIT
//
// Owen, Maximov and Chertkov, "Importance sampling the union of rare events with an application to power systems analysis",
// Electronic Journal of Statistics 13 (2019): the estimator ALORE.
#include "probust/normal/rare.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "probust/normal/bivariate.h"
#include "probust/normal/factor.h"
#include "probust/normal/lattice.h"
#include "probust/normal/separation.h"
#include "probust/normal/univariate.h"
#include "probust/normal/vector_math.h"

namespace probust::normal {
namespace {

/// The event X_i > z_i, X_j <= z_j for j < i as an orthant: the sign of variable i is flipped.
Separation first_failure(const Orthant& orthant, Eigen::Index i, std::uint64_t seed, Arena& arena) {
  constexpr std::int64_t kFirstLevel = 8;
  const Eigen::Index size = i + 1;
  const std::span<double> limits = arena.take<double>(size), correlations = arena.take<double>(size * size);
  std::copy_n(orthant.limits, size, limits.begin());
  for (Eigen::Index j = 0; j < size; ++j) std::copy_n(orthant.column(j), size, &correlations[j * size]);
  limits[i] = -limits[i];
  for (Eigen::Index j = 0; j < i; ++j) {
    correlations[j * size + i] *= -1.0;
    correlations[i * size + j] *= -1.0;
  }
  const Orthant mirrored{size, limits.data(), correlations.data(), size};
  return {mirrored, seed + static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15ULL, kFirstLevel, arena};
}

/// The sampled terms of the telescoping sum, and the sum of the exact terms.
class Terms {
 public:
  Terms(double exact, const Orthant& orthant, std::uint64_t seed, Arena& arena)
      : exact_(exact), terms_(arena.take<Separation>(std::max<Eigen::Index>(0, orthant.size - 2))) {
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      Separation* term = std::construct_at(&terms_[i], first_failure(orthant, static_cast<Eigen::Index>(i) + 2, seed, arena));
      term->refine();
    }
  }

  double sum() const {
    double total = exact_;
    for (const Separation& term : terms_) total += term.p();
    return total;
  }

  /// Sampling errors of different terms are independent; biases add up.
  double error() const {
    double squares = 0.0, bias = 0.0;
    for (const Separation& term : terms_) {
      const double sampling = term.error() - term.bias();
      squares += sampling * sampling;
      bias += term.bias();
    }
    return std::sqrt(squares) + bias + 4e-16 * exact_;
  }

  std::int64_t points() const {
    std::int64_t total = 0;
    for (const Separation& term : terms_) total += term.points();
    return total;
  }

  /// The term whose next level reduces the error most per unit of cost; null if there is none.
  Separation* most_worthwhile() {
    Separation* best = nullptr;
    double most = 0.0;
    for (Separation& term : terms_) {
      const double sampling = term.error() - term.bias(), worth = sampling * sampling / term.next_cost();
      if (!term.exhausted() && worth > most) most = worth, best = &term;
    }
    return best;
  }

 private:
  double exact_;
  std::span<Separation> terms_;
};

/// The sampler of importance_sample. It samples first which limit is exceeded, then by how much, and then all other variables
/// given that one.
class UnionSampler {
 public:
  UnionSampler(const Orthant& orthant, std::uint64_t seed, Arena& arena)
      : orthant_(orthant),
        factor_(pivoted_cholesky(orthant, arena)),
        lattice_(static_cast<int>(factor_.rank()) + 2, seed, arena),
        tails_(arena.take<double>(orthant.size)),
        cumulative_(arena.take<double>(orthant.size)),
        variables_(arena.take<Lanes>(orthant.size)) {
    for (Eigen::Index i = 0; i < orthant.size; ++i) {
      tails_[i] = complement(orthant.z(i));
      total_ += tails_[i];
      cumulative_[i] = total_;
    }
  }

  /// The sum of the probabilities of single failures.
  double total() const { return total_; }

  /// The probability of the union is the mean of total / (number of limits exceeded).
  void evaluate(const ShiftedLattice::Block& block, Lanes& p, Lanes& q) {
    Lanes u, level;
    std::array<Eigen::Index, kLanes> failing;
    lattice_.coordinate(0, block, u);
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, u[lane] * total_);
      failing[lane] = found - cumulative_.begin();
    }
    lattice_.coordinate(1, block, u);
    for (int lane = 0; lane < kLanes; ++lane) u[lane] *= tails_[failing[lane]];
    quantile_lanes(u, level);
    Lanes normal;
    for (Lanes& variable : variables_) variable.fill(0.0);
    for (Eigen::Index axis = 0; axis < factor_.rank(); ++axis) {
      lattice_.coordinate(static_cast<int>(axis) + 2, block, u);
      quantile_lanes(u, normal);
      for (Eigen::Index j = 0; j < orthant_.size; ++j) {
        const double entry = factor_.entry(j, axis);
        for (int lane = 0; lane < kLanes; ++lane)
          variables_[j][lane] = rational::multiply_add(entry, normal[lane], variables_[j][lane]);
      }
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      const Eigen::Index i = failing[lane];
      const double lift = -level[lane] - variables_[i][lane];
      Eigen::Index failures = 1;
      for (Eigen::Index j = 0; j < orthant_.size; ++j) {
        failures += static_cast<Eigen::Index>(j != i && variables_[j][lane] + orthant_.rho(j, i) * lift > orthant_.z(j));
      }
      q[lane] = total_ / static_cast<double>(failures);
      p[lane] = 1.0 - q[lane];
    }
  }

 private:
  Orthant orthant_;
  GrowingCholesky factor_;
  ShiftedLattice lattice_;
  std::span<double> tails_, cumulative_;
  std::span<Lanes> variables_;
  double total_ = 0.0;
};

}  // namespace

RareFailure telescope(const Orthant& orthant, const Goal& goal, Arena& arena) {
  const Arena::Scope scope(arena);
  // The exact second term, P(X_2 > z_2, X_1 <= z_1).
  const double first = complement(orthant.z(0));
  const double second = orthant.size > 1 ? bivariate_upper(orthant.z(1), -orthant.z(0), -orthant.rho(0, 1)) : 0.0;
  Terms terms(first + second, orthant, goal.seed, arena);
  while (terms.error() > goal.target(terms.sum())) {
    Separation* const term = terms.most_worthwhile();
    if (term == nullptr || terms.points() + term->next_points() > goal.max_points) break;
    term->refine(goal.stop);
  }
  return {terms.sum(), terms.error(), terms.points()};
}

RareFailure importance_sample(const Orthant& orthant, const Goal& goal, Arena& arena) {
  const Arena::Scope scope(arena);
  constexpr std::int64_t kFirstLevel = 64;
  UnionSampler sampler(orthant, goal.seed, arena);
  LatticeMean mean(kFirstLevel);
  // Joint failures may be too rare to occur in the sample; the rule of three bounds the resulting error.
  const auto error = [&] {
    return kErrorFactor * mean.standard_error() + 3.0 * sampler.total() / static_cast<double>(mean.points());
  };
  const auto evaluate = [&](const ShiftedLattice::Block& block, Lanes& p, Lanes& q) { sampler.evaluate(block, p, q); };
  do mean.refine(evaluate, goal.stop);
  while (error() > goal.target(mean.q()) && !mean.exhausted() && mean.points() + mean.next_points() <= goal.max_points);
  return {mean.q(), error(), mean.points()};
}

}  // namespace probust::normal
