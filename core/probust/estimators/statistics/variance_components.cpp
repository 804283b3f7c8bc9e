// SPDX-License-Identifier: MIT
#include "probust/estimators/statistics/variance_components.h"

#include <algorithm>

#include "probust/base/linear_algebra.h"

namespace probust {
namespace {

// The normal equations of the weights: minimise w·A w / 2 - b·w.
struct NormalEquations {
  Eigen::MatrixXd a;
  Eigen::VectorXd b;
};

NormalEquations normal_equations(const Similarities& similarities, const Eigen::MatrixXd& products,
                                 const Eigen::MatrixXd& counts) {
  const auto size = static_cast<Eigen::Index>(similarities.size());
  NormalEquations equations{Eigen::MatrixXd::Zero(size, size), Eigen::VectorXd::Zero(size)};
  for (Eigen::Index k = 1; k < counts.cols(); ++k) {  // entries above the diagonal
    const auto count = counts.col(k).head(k).array();
    for (Eigen::Index s = 0; s < size; ++s) {
      const auto of_s = similarities[s].col(k).head(k).array();
      equations.b[s] += (products.col(k).head(k).array() * of_s).sum();
      for (Eigen::Index t = 0; t <= s; ++t) equations.a(s, t) += (count * of_s * similarities[t].col(k).head(k).array()).sum();
    }
  }
  equations.a.triangularView<Eigen::StrictlyUpper>() = equations.a.transpose();
  return equations;
}

// The problem with only a subset of the weights, given as bits; the others are zero.
NormalEquations restricted(const NormalEquations& all, unsigned subset) {
  NormalEquations some = all;
  for (Eigen::Index s = 0; s < all.b.size(); ++s) {
    if ((subset >> s & 1) != 0) continue;
    some.a.row(s).setZero();
    some.a.col(s).setZero();
    some.a(s, s) = all.a.trace() / static_cast<double>(all.b.size());
    some.b[s] = 0;
  }
  return some;
}

}  // namespace

Eigen::VectorXd component_weights(const Similarities& similarities, const Eigen::MatrixXd& products,
                                  const Eigen::MatrixXd& counts) {
  constexpr double kSingular = 1e-9;  // similarities that are equal for these points cannot be distinguished
  const auto size = static_cast<Eigen::Index>(similarities.size());
  const NormalEquations equations = normal_equations(similarities, products, counts);
  Eigen::VectorXd best = Eigen::VectorXd::Zero(size);
  double gain = 0;
  for (unsigned subset = 1; subset < 1U << size; ++subset) {
    const NormalEquations some = restricted(equations, subset);
    const Cholesky root(some.a);
    if (!root.definite() || !(root.reciprocal_condition() > kSingular)) continue;
    const Eigen::VectorXd weights = root.solve_vector(some.b);
    const double gained = weights.dot(some.b);
    if (!(weights.minCoeff() >= 0) || !(gained > gain)) continue;
    gain = gained;
    best = weights;
  }
  return best;
}

Eigen::MatrixXd weighted_sum(const Similarities& similarities, const Eigen::VectorXd& weights) {
  Eigen::MatrixXd sum = weights[0] * similarities[0];
  for (Eigen::Index s = 1; s < weights.size(); ++s) {
    if (weights[s] > 0) sum += weights[s] * similarities[s];
  }
  return sum;
}

Smoothed smooth(const Similarities& similarities, const Eigen::MatrixXd& observed, double sampling) {
  constexpr double kLeastOwn = 1e-9;  // share of the variance that keeps the prior regular if points are equal
  const Eigen::Index n = observed.rows();
  const Eigen::RowVectorXd mean = observed.colwise().mean();
  const Eigen::MatrixXd rest = observed.rowwise() - mean;
  const Eigen::MatrixXd products = product_with_transposed(rest, rest) / static_cast<double>(rest.cols());
  Eigen::MatrixXd prior = weighted_sum(similarities, component_weights(similarities, products, Eigen::MatrixXd::Ones(n, n)));
  const double total = products.diagonal().mean();
  prior.diagonal().array() += std::max(total - sampling - prior.diagonal().mean(), kLeastOwn * total);
  // With Y = prior + sampling I, the posterior mean is rest - sampling Y⁻¹ rest, and its covariance is sampling I - sampling²
  // Y⁻¹.
  prior.diagonal().array() += sampling;
  const Cholesky root(prior);
  if (!root.definite()) return {observed, Eigen::VectorXd::Constant(n, sampling)};
  const Eigen::MatrixXd inverse = root.inverse();
  Smoothed result{observed - sampling * product(inverse, rest), sampling - sampling * sampling * inverse.diagonal().array()};
  result.variances = result.variances.cwiseMax(0);
  return result;
}

}  // namespace probust
