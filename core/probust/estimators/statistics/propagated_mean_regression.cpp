// SPDX-License-Identifier: MIT
#include "probust/estimators/statistics/propagated_mean_regression.h"

#include <algorithm>
#include <cmath>

#include "probust/base/linear_algebra.h"

namespace probust {
namespace {

constexpr double kStep = 3;    // ratio of successive variances that are tried
constexpr int kMostSteps = 8;  // variances tried in each direction from the size of the sampling errors
// Share of the variance unexplained by the predictors that is common to similar points.
constexpr double kInCommon = 0.5;
constexpr double kAlikePredictors = 1e-6;  // predictors that differ by less, relative to the largest, count as a single one

// An orthonormal basis of the columns: [n, at most q].
Eigen::MatrixXd basis_of(const Eigen::MatrixXd& predictors) {
  const Eigen::VectorXd norms = predictors.colwise().norm().transpose().cwiseMax(1e-300);
  return orthonormal_basis(predictors * norms.cwiseInverse().asDiagonal(), kAlikePredictors);
}

// The mixed model y = X b + u + e for each coordinate, with predictors X, errors e of covariance S, and random effects u of
// covariance `own`.
class MixedModel {
 public:
  MixedModel(const Eigen::MatrixXd& errors, const Eigen::MatrixXd& own, const Eigen::MatrixXd& basis, const Eigen::MatrixXd& y)
      : root_(errors + own),
        basis_(root_.solve_lower(basis)),
        gram_(transposed_product(basis_, basis_)),
        residual_(unexplained(root_.solve_lower(y))) {}

  // The restricted log likelihood up to a constant. `share` are the relative variances of the coordinates.
  double log_likelihood(const Eigen::VectorXd& share) const {
    const Eigen::VectorXd squares = residual_.colwise().squaredNorm().transpose().cwiseQuotient(share.cwiseMax(1e-12));
    return -0.5 * (static_cast<double>(share.size()) * (root_.log_determinant() + gram_.log_determinant()) + squares.sum());
  }

  // The remaining errors: minus S P y, with covariance S - S P S, where P = V⁻¹ - V⁻¹ X (Xᵀ V⁻¹ X)⁻¹ Xᵀ V⁻¹.
  CommonErrors remaining(const CommonErrors& errors) const {
    const Eigen::MatrixXd explained = unexplained(root_.solve_lower(errors.covariance));
    return {errors.correction - transposed_product(explained, residual_),
            errors.covariance - transposed_product(explained, explained)};
  }

 private:
  // L⁻¹ y minus its projection on L⁻¹ X.
  Eigen::MatrixXd unexplained(const Eigen::MatrixXd& y) const {
    return y - product(basis_, gram_.solve(transposed_product(basis_, y)));
  }

  Cholesky root_;             // L Lᵀ = V
  Eigen::MatrixXd basis_;     // L⁻¹ X
  Cholesky gram_;             // factor of Xᵀ V⁻¹ X
  Eigen::MatrixXd residual_;  // L⁻¹ y minus its projection on L⁻¹ X
};

}  // namespace

bool may_propagate(const Points& points, const Noise& noise) { return points.size() >= kLeastPoints && !noise.shape->differs(); }

Propagated propagated(Evaluation& evaluation, const Noise& noise) {
  if (!may_propagate(evaluation.points(), noise)) return std::nullopt;
  auto moments = evaluation.executor().moments(evaluation.points(), noise);
  if (moments) return std::move(moments).value();
  if (moments.error().code != ErrorCode::unsupported) throw moments.error();
  return std::nullopt;
}

std::int64_t pairs_with_propagation(std::int64_t forwards) {
  return std::max<std::int64_t>(2, (forwards - kPropagationPasses) / 2);
}

void count_propagation(const Propagated& propagated, std::vector<Estimate>& estimates) {
  if (!propagated) return;
  for (Estimate& estimate : estimates) estimate.forwards += kPropagationPasses;
}

CommonErrors regressed(const CommonErrors& errors, const Eigen::MatrixXd& sampled, const Eigen::MatrixXd& predictors,
                       const Eigen::VectorXd& share, const Eigen::MatrixXd& alike) {
  if (!(errors.covariance.diagonal().minCoeff() > 0) || !predictors.allFinite() || !sampled.allFinite()) return errors;
  const Eigen::MatrixXd basis = basis_of(predictors);
  const Eigen::VectorXd deviations = errors.covariance.diagonal().cwiseSqrt();
  Eigen::MatrixXd own = kInCommon * (deviations * deviations.transpose()).cwiseProduct(alike);
  own.diagonal() += (1 - kInCommon) * deviations.cwiseAbs2();
  const auto with = [&](int steps) { return MixedModel(errors.covariance, std::pow(kStep, steps) * own, basis, sampled); };
  MixedModel best = with(0);
  double likelihood = best.log_likelihood(share);
  for (const int direction : {1, -1}) {
    bool better = false;
    for (int step = 1; step <= kMostSteps; ++step) {
      MixedModel next = with(direction * step);
      const double of_next = next.log_likelihood(share);
      if (!(of_next > likelihood)) break;
      best = std::move(next);
      likelihood = of_next;
      better = true;
    }
    if (better) break;
  }
  return best.remaining(errors);
}

}  // namespace probust
