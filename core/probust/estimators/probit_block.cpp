// SPDX-License-Identifier: MIT
// probit:N:learned, the normal probability of margins whose covariances are estimated from all points of a block
// (block_model.h), and probit:N:shared, whose points also share draws of the noise, which reduces the errors of the mean margins
// (shared_noise.h). If the counts of the block contradict normal margins, both give the estimates of probit:N:pooled: information
// from other points is harmful if it is wrong in the same way at all points.
#include <algorithm>
#include <cmath>

#include "probust/base/parallel.h"
#include "probust/base/select.h"
#include "probust/estimators/block_model.h"
#include "probust/estimators/common.h"

namespace probust {
namespace {

// Larger than kContradicted, because a few points give weaker evidence than a block. Their excess was at most 1.1 on networks
// with normal margins and at least 4.8 on the MNIST LeNet.
constexpr double kFarFromNormal = 2.5;

// Whether the numbers of survivors at some of the points contradict a block model of these points, without propagated moments.
bool contradicts_block_model(const Evaluation& evaluation, const SharedPoints& shared, const std::vector<Pairs>& sampled,
                             const StopToken* stop) {
  const std::vector<std::int64_t> some = spread_out(shared.points.size());
  const Points points = select(shared.points, some);
  const std::vector<Pairs> pairs = select(sampled, some);
  SharedNoise noise = shared.noise.of(some);
  noise.keep(pairs[0].size());
  const BlockModel model(pairs, points.target, points.x, rows(evaluation.logits(), some), noise);
  const auto estimate = [&](std::int64_t i) -> std::optional<Estimate> {
    if (!model.has_posterior(i)) return std::nullopt;
    return from_moments(model.moments(i), points.target[i], stop);
  };
  return excess_scatter(pairs, points.target, stop, estimate) > kFarFromNormal;
}

// Fits the block model to as many pairs as the forwards allow. If moments can be propagated, the cost of the propagation is
// subtracted from the forwards first. If the margins are far from normal, returns pooled estimates from the pairs sampled so far.
std::vector<Estimate> fit_block(Evaluation& evaluation, const Noise& noise, SharedPoints shared, std::int64_t forwards) {
  Executor& executor = evaluation.executor();
  const Points& points = shared.points;
  const std::int64_t all = forwards / 2, first = may_propagate(points, noise) ? pairs_with_propagation(forwards) : all;
  std::vector<Pairs> pairs = executor.pairs(points, noise, first).value();
  Propagated moments;
  if (first < all) {
    if (contradicts_block_model(evaluation, shared, pairs, &executor.progress.stop))
      return estimates_from_pooled(evaluation, pairs);
    moments = propagated(evaluation, noise);
    if (!moments) pairs = with_pairs_up_to(all, executor, points, noise, std::move(pairs));
  }
  shared.noise.keep(pairs[0].size());
  std::vector<Estimate> estimates = estimates_from_block_model(evaluation, shared, pairs, moments);
  count_propagation(moments, estimates);
  return estimates;
}

std::vector<Estimate> estimate_with_block_model(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked,
                                                bool share) {
  const Points& points = evaluation.points();
  const std::int64_t n = points.size(), pairs = asked.samples / 2;
  if (n == 0) return {};
  check_all_fit(evaluation.executor(), n, bytes_of_block_model(n, pairs, evaluation.executor().classes()));
  return fit_block(evaluation, noise, share ? share_draws(points, noise, pairs) : SharedPoints{points}, asked.samples);
}

}  // namespace

std::vector<Estimate> estimates_from_block_model(Evaluation& evaluation, const SharedPoints& shared,
                                                 const std::vector<Pairs>& sampled, const Propagated& propagated) {
  Executor& executor = evaluation.executor();
  const Points& points = shared.points;
  const std::int64_t n = points.size(), samples = 2 * sampled[0].size();
  const BlockModel model(sampled, points.target, points.x, evaluation.logits(), shared.noise, propagated);
  std::vector<Estimate> estimates(static_cast<std::size_t>(n));
  std::vector<std::int64_t> survivors(estimates.size());
  const std::atomic<bool>* stop = &executor.progress.stop;
  parallel_for(n, executor.options().threads, [&](std::int64_t i, int) {
    stop_if_asked(stop);
    survivors[i] = count_survivors(sampled[i], points.target[i]);
    if (!model.has_posterior(i)) return void(estimates[i] = estimate_from_pairs(sampled[i], points.target[i], stop));
    estimates[i] = from_moments(model.moments(i), points.target[i], stop);
    estimates[i].forwards = samples;
  });
  if (excess_scatter(estimates, survivors, samples) > kContradicted) return estimates_from_pooled(evaluation, sampled);
  parallel_for(n, executor.options().threads, [&](std::int64_t i, int) {
    stop_if_asked(stop);
    attach_label(estimates[i], sampled[i], points, i, stop);
    if (!model.has_posterior(i)) return;
    const Rivals nearest = some_rivals(sampled[i], points.target[i], nearest_rows(sampled[i]));
    attach_interval(estimates[i], std_error_of_z(model, i, nearest), survivors[i], samples, 1, kCountedIfAgreed);
  });
  return estimates;
}

std::vector<Estimate> estimate_probit_learned(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return estimate_with_block_model(evaluation, noise, asked, false);
}

std::vector<Estimate> estimate_probit_shared(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return estimate_with_block_model(evaluation, noise, asked, true);
}

}  // namespace probust
