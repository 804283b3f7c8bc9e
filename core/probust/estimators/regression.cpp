// SPDX-License-Identifier: MIT
// regression:N, where N is the cost in forwards: the margins of antithetic noisy samples are regressed on the noise along the
// gradients of the two or three nearest margins. The explained part is normal and is integrated exactly; the residuals are
// sampled and smoothed. It is exact on a linear model with no more rivals than gradients, because there are no residuals.
// regression:N:adf uses the gradients of the mean under the noise instead of those at the point; they are accurate at the scale
// of the noise.
//
// Let w ~ N(0, I) be the noise in the span of those gradients. Then g = m + B w + r and p = mean_j P[m + a r_j + eta > 0] with
// eta ~ N(0, B Bᵀ + (1 - a²) S_r). This is a kernel density estimate of the residuals that preserves their covariance S_r
// (Silverman 1986, section 6.4). regression:N:pooled shrinks the covariance B Bᵀ + S_r towards those of the other points of the
// block (pooling.h).
#include <algorithm>

#include "probust/base/parallel.h"
#include "probust/estimators/common.h"
#include "probust/estimators/statistics/pooling.h"
#include "probust/estimators/statistics/regression_fit.h"

namespace probust {
namespace {

enum class Pooling { none, block };

std::vector<CovarianceModel> models_of(const std::vector<RegressionFit>& fits, const std::vector<std::int64_t>& targets,
                                       const Tensor& logits, std::int64_t pairs, Pooling pooling) {
  if (pooling == Pooling::none) {
    std::vector<CovarianceModel> models;
    models.reserve(fits.size());
    for (const RegressionFit& each : fits) models.push_back(own_alone(each.residual.rows()));
    return models;
  }
  std::vector<Eigen::MatrixXd> own;
  own.reserve(fits.size());
  for (const RegressionFit& each : fits) own.push_back(each.finite ? each.explained_covariance() + each.residual : each.residual);
  return pooled_covariances(own, targets, logits, pairs);
}

std::vector<Estimate> by_regression(Evaluation& evaluation, const Noise& noise, std::int64_t cost, LinearizeAt around,
                                    Pooling pooling) {
  Executor& executor = evaluation.executor();
  const Points& points = evaluation.points();
  std::vector<Estimate> estimates = certain_estimates(points.size());
  if (executor.classes() == 1) return estimates;
  const RegressionBudget budget = regression_budget(cost, executor.classes(), around);
  const std::int64_t bytes = 64 * budget.pairs * executor.classes();
  std::int64_t step = points.size();
  if (pooling == Pooling::none) {
    const std::int64_t nearest = std::min<std::int64_t>(executor.classes(), kMostRivals);
    step = points_at_once(executor, bytes + 32 * nearest * nearest);
  } else {
    check_all_fit(executor, points.size(), bytes + 32 * executor.classes() * executor.classes());
  }
  for (std::int64_t first = 0; first < points.size(); first += step) {
    const Points part = slice(points, first, std::min(step, points.size() - first));
    const PickedGradients picked =
        pick_gradients(executor.pairs(part, noise, budget.pilot()).value(), part.target, budget.gradients);
    const std::vector<Projection> projections =
        executor.project(part, picked.rivals, noise, budget.pairs, budget.pilot(), around).value();
    std::vector<RegressionFit> fits(projections.size());
    parallel_for(part.size(), executor.options().threads, [&](std::int64_t i, int) {
      stop_if_asked(&executor.progress.stop);
      const Pairs all = joined(picked.pairs[i], projections[i].pairs);
      const std::int64_t target = part.target[i];
      Rivals nearest = pooling == Pooling::none ? nearest_rivals(all, target, picked.rows[i]) : all_rivals(all, target);
      fits[i] = fit_regression(std::move(nearest), count_survivors(all, target), projections[i], picked.rows[i], noise.scale);
    });
    const std::vector<CovarianceModel> models = models_of(fits, part.target, evaluation.logits(), budget.pairs, pooling);
    parallel_for(part.size(), executor.options().threads, [&](std::int64_t i, int) {
      stop_if_asked(&executor.progress.stop);
      Estimate& estimate = estimates[first + i];
      estimate = estimate_from_fit(fits[i], models[i], budget.roughness, &executor.progress.stop);
      if (other_label(part, i) >= 0)
        attach_label(estimate, joined(picked.pairs[i], projections[i].pairs), part, i, &executor.progress.stop);
      count_passes(estimate, budget, around);
    });
  }
  return estimates;
}

}  // namespace

std::vector<Estimate> estimate_regression(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return by_regression(evaluation, noise, asked.samples, LinearizeAt::input, Pooling::none);
}

std::vector<Estimate> estimate_regression_pooled(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return by_regression(evaluation, noise, asked.samples, LinearizeAt::input, Pooling::block);
}

std::vector<Estimate> estimate_regression_adf(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return by_regression(evaluation, noise, asked.samples, LinearizeAt::noise_mean, Pooling::none);
}

}  // namespace probust
