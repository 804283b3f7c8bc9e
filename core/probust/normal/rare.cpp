// SPDX-License-Identifier: MIT
//
// Owen, Maximov and Chertkov, "Importance sampling the union of rare events with an application to power systems analysis",
// Electronic Journal of Statistics 13 (2019): the estimator ALORE.
#include "probust/normal/rare.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "probust/normal/bivariate.h"
#include "probust/normal/factor.h"
#include "probust/normal/lanes.h"
#include "probust/normal/lattice.h"
#include "probust/normal/separation.h"
#include "probust/normal/univariate.h"

namespace probust::normal {
namespace {

/// P(X_i > z_i, X_j <= z_j for j < i) as an orthant: variable i changes its sign.
Separation first_failure(const Eigen::VectorXd& z, const Eigen::MatrixXd& R, Eigen::Index i, std::uint64_t seed) {
  constexpr std::int64_t kFirstLevel = 8;
  Eigen::VectorXd limit = z.head(i + 1);
  Eigen::MatrixXd correlation = R.topLeftCorner(i + 1, i + 1);
  limit[i] = -limit[i];
  correlation.row(i).head(i) *= -1.0;
  correlation.col(i).head(i) *= -1.0;
  Separation term(limit, correlation, seed + static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15ULL, kFirstLevel);
  term.refine();
  return term;
}

/// The terms of the telescoping sum that are sampled.
class Terms {
 public:
  Terms(double exact, const Eigen::VectorXd& z, const Eigen::MatrixXd& R, std::uint64_t seed) : exact_(exact) {
    terms_.reserve(z.size());
    for (Eigen::Index i = 2; i < z.size(); ++i) terms_.push_back(first_failure(z, R, i, seed));
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

  /// The term where the next level buys most, or null.
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
  std::vector<Separation> terms_;
};

/// The sampler of importance_sample: which limit fails comes first, then by how much, then everything else given that.
class UnionSampler {
 public:
  UnionSampler(const Eigen::VectorXd& z, const Eigen::MatrixXd& R, std::uint64_t seed)
      : z_(z), matrix_(R), factor_(pivoted_cholesky(R)), lattice_(static_cast<int>(factor_.cols()) + 2, seed) {
    tails_.resize(z.size());
    for (Eigen::Index i = 0; i < z.size(); ++i) {
      tails_[i] = complement(z[i]);
      total_ += tails_[i];
      cumulative_.push_back(total_);
    }
    normals_.resize(factor_.cols(), kLanes);
  }

  /// The sum of the single failures' probabilities.
  double total() const { return total_; }

  /// The union's probability is the mean of total / (number of limits that fail).
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
    for (Eigen::Index axis = 0; axis < factor_.cols(); ++axis) {
      lattice_.coordinate(static_cast<int>(axis) + 2, block, u);
      quantile_lanes(u, normal);
      for (int lane = 0; lane < kLanes; ++lane) normals_(axis, lane) = normal[lane];
    }
    variables_.noalias() = factor_ * normals_;
    for (int lane = 0; lane < kLanes; ++lane) {
      const Eigen::Index i = failing[lane];
      const double lift = -level[lane] - variables_(i, lane);
      Eigen::Index failures = 1;
      for (Eigen::Index j = 0; j < z_.size(); ++j) {
        failures += static_cast<Eigen::Index>(j != i && variables_(j, lane) + matrix_(j, i) * lift > z_[j]);
      }
      q[lane] = total_ / static_cast<double>(failures);
      p[lane] = 1.0 - q[lane];
    }
  }

 private:
  const Eigen::VectorXd& z_;
  const Eigen::MatrixXd& matrix_;
  Eigen::MatrixXd factor_, normals_, variables_;
  ShiftedLattice lattice_;
  Eigen::VectorXd tails_;
  std::vector<double> cumulative_;
  double total_ = 0.0;
};

}  // namespace

RareFailure telescope(const Eigen::VectorXd& z, const Eigen::MatrixXd& R, const Goal& goal) {
  // Of the second term what is common with the first one is missing: P(X_2 > z_2, X_1 <= z_1).
  const double first = complement(z[0]);
  const double second = z.size() > 1 ? bivariate_upper(z[1], -z[0], -R(0, 1)) : 0.0;
  Terms terms(first + second, z, R, goal.seed);
  while (terms.error() > goal.target(terms.sum())) {
    Separation* const term = terms.most_worthwhile();
    if (term == nullptr || terms.points() + term->next_points() > goal.max_points) break;
    term->refine();
  }
  return {terms.sum(), terms.error(), terms.points()};
}

RareFailure importance_sample(const Eigen::VectorXd& z, const Eigen::MatrixXd& R, const Goal& goal) {
  constexpr std::int64_t kFirstLevel = 64;
  UnionSampler sampler(z, R, goal.seed);
  LatticeMean mean(kFirstLevel);
  // Joint failures may be too rare to be met; the rule of three bounds what that hides.
  const auto error = [&] {
    return kErrorFactor * mean.standard_error() + 3.0 * sampler.total() / static_cast<double>(mean.points());
  };
  const auto evaluate = [&](const ShiftedLattice::Block& block, Lanes& p, Lanes& q) { sampler.evaluate(block, p, q); };
  do mean.refine(evaluate);
  while (error() > goal.target(mean.q()) && !mean.exhausted() && mean.points() + mean.next_points() <= goal.max_points);
  return {mean.q(), error(), mean.points()};
}

}  // namespace probust::normal
