// SPDX-License-Identifier: MIT
// regression:N:learned. The slopes along the gradients are those of each point, as in regression.cpp; the covariance of the
// residuals is estimated from all points of the block, which share draws (block_model.h). Margins are assumed to be normal: p =
// Phi(m; B Bᵀ + S_r). The gradients are those of the mean under the noise, if the cost allows and all operators have moment
// rules. If gradients explain little, because there are many margins or the margins are curved, the estimates are those of
// probit:N:shared.
#include <fmt/format.h>

#include <cmath>

#include "probust/base/parallel.h"
#include "probust/estimators/block_model.h"
#include "probust/estimators/common.h"
#include "probust/estimators/statistics/regression_fit.h"
#include "probust/exec/plan/shared_draws.h"

namespace probust {
namespace {

// If more than this share of the margins' variance is even in the noise, gradients are not worth their cost. In that case,
// sharing draws is better only with many points (docs/estimators.md).
constexpr double kBent = 0.25;
constexpr std::int64_t kManyPoints = 128;

// With more margins, each point regresses on different gradients, so residuals are not comparable between points.
constexpr std::int64_t kMostMargins = 12;

class BlockRegression {
 public:
  BlockRegression(Evaluation& evaluation, const Noise& noise, std::int64_t cost)
      : evaluation_(evaluation),
        executor_(evaluation.executor()),
        noise_(noise),
        cost_(cost),
        around_(cost >= kPropagationPays && propagates(executor_, evaluation.points(), noise) ? LinearizeAt::noise_mean
                                                                                              : LinearizeAt::input),
        propagates_(around_ == LinearizeAt::noise_mean && may_propagate(evaluation.points(), noise)),
        budget_(regression_budget(propagates_ ? cost - kPropagationPasses : cost, executor_.classes(), around_)) {}

  std::vector<Estimate> estimates() {
    const std::int64_t n = evaluation_.points().size(), classes = executor_.classes();
    shared_ = share_draws(evaluation_.points(), noise_, cost_ / 2);
    check_all_fit(executor_, n,
                  bytes_of_block_model(n, budget_.pairs, classes) + 4 * bytes_of_pairs(budget_.pairs, classes) +
                      bytes_to_project_by_draw(shared_.points, noise_, budget_.gradients));
    std::vector<Pairs> pairs = executor_.pairs(shared_.points, noise_, budget_.pairs).value();
    if (far_from_normal(pairs, shared_.points.target, &executor_.progress.stop))
      return estimates_from_pooled(evaluation_, up_to(cost_ / 2, std::move(pairs)));
    if (gradients_explain_little(pairs)) return without_gradients(std::move(pairs));
    shared_.noise.keep(budget_.pairs);
    return from(pick_gradients(std::move(pairs), shared_.points.target, budget_.gradients));
  }

 private:
  bool gradients_explain_little(const std::vector<Pairs>& pairs) const {
    if (executor_.classes() - 1 > kMostMargins) return true;
    return std::ssize(pairs) >= kManyPoints && shared_.noise.shared() && even_share(pairs) > kBent;
  }

  std::vector<Pairs> up_to(std::int64_t count, std::vector<Pairs> pairs) {
    return with_pairs_up_to(count, executor_, shared_.points, noise_, std::move(pairs));
  }

  std::vector<Estimate> without_gradients(std::vector<Pairs> pairs) {
    const Propagated moments = propagated(evaluation_, noise_);
    const std::int64_t count = moments ? pairs_with_propagation(cost_) : cost_ / 2;
    shared_.noise.keep(count);
    std::vector<Estimate> estimates = estimates_from_block_model(evaluation_, shared_, up_to(count, std::move(pairs)), moments);
    count_propagation(moments, estimates);
    const EstimatorSpec method = spec_of(shared_.noise.shared() ? estimate_probit_shared : estimate_probit_learned, cost_);
    for (Estimate& estimate : estimates) estimate.method = method;
    return estimates;
  }

  std::vector<Estimate> from(const PickedGradients& picked) {
    const std::vector<RegressionFit> fits = fitted(picked);
    std::vector<Pairs> left;
    std::vector<std::int64_t> survivors;
    for (std::size_t i = 0; i < fits.size(); ++i) {
      left.push_back(fits[i].finite ? fits[i].left : picked.pairs[i]);
      survivors.push_back(fits[i].survivors);
    }
    const Points& points = shared_.points;
    const Propagated predicted = propagates_ ? propagated(evaluation_, noise_) : std::nullopt;
    const BlockModel model(left, points.target, points.x, evaluation_.logits(), shared_.noise, predicted);
    std::vector<Estimate> estimates(fits.size());
    for_points([&](std::int64_t i) {
      if (!model.has_posterior(i))
        return void(estimates[i] = estimate_from_fit(fits[i], own_alone(executor_.classes() - 1), budget_.roughness, stop()));
      MarginMoments moments = model.moments(i);
      moments.covariance += fits[i].explained_covariance();
      estimates[i] = from_moments(moments, points.target[i], stop());
    });
    if (excess_scatter(estimates, survivors, 2 * budget_.pairs) > kContradicted) {
      estimates = estimates_from_pooled(evaluation_, picked.pairs);
    } else {
      for_points([&](std::int64_t i) {
        if (model.has_posterior(i)) attach_model_interval(estimates[i], model, i, fits[i], picked.pairs[i]);
        attach_label(estimates[i], picked.pairs[i], points, i, stop());
      });
    }
    for (Estimate& estimate : estimates) count_passes(estimate, budget_, around_);
    count_propagation(predicted, estimates);
    return estimates;
  }

  std::vector<RegressionFit> fitted(const PickedGradients& picked) {
    const Points& points = shared_.points;
    const std::vector<Projection> projections =
        executor_.project(points, picked.rivals, noise_, budget_.pairs, budget_.pairs, around_).value();
    std::vector<RegressionFit> fits(projections.size());
    for_points([&](std::int64_t i) {
      const std::int64_t target = points.target[i], survivors = count_survivors(picked.pairs[i], target);
      fits[i] = fit_regression(all_rivals(picked.pairs[i], target), survivors, projections[i], picked.rows[i], noise_.scale);
    });
    return fits;
  }

  void attach_model_interval(Estimate& estimate, const BlockModel& model, std::int64_t i, const RegressionFit& fit,
                             const Pairs& pairs) const {
    const Rivals nearest = some_rivals(pairs, shared_.points.target[i], nearest_rows(pairs));
    const SlopePosterior slopes(fit, nearest.rows);
    const double std_error =
        std_error_of_z(model, i, nearest, [&](std::uint32_t number) { return slopes.covariance(i, number); });
    attach_interval(estimate, std_error, fit.survivors, 2 * budget_.pairs, fit.unexplained(), kCountedIfAgreed);
  }

  template <class Use>
  void for_points(Use use) const {
    parallel_for(shared_.points.size(), executor_.options().threads, [&](std::int64_t i, int) {
      stop_if_asked(stop());
      use(i);
    });
  }

  const StopToken* stop() const { return &executor_.progress.stop; }

  Evaluation& evaluation_;
  Executor& executor_;
  const Noise& noise_;
  std::int64_t cost_;
  LinearizeAt around_;
  bool propagates_;  // whether to propagate moments in addition to the gradients
  RegressionBudget budget_;
  SharedPoints shared_;
};

}  // namespace

std::vector<Estimate> estimate_regression_learned(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  if (evaluation.points().size() == 0) return {};
  if (evaluation.executor().classes() == 1) return certain_estimates(evaluation.points().size());
  return BlockRegression(evaluation, noise, asked.samples).estimates();
}

}  // namespace probust
