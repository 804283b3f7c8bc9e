// SPDX-License-Identifier: MIT
// probit:N:learned, the normal probability of margins whose covariances are learned from all points of a block (learning.h), and
// probit:N:shared, whose points also share draws of the noise, so that their means become more certain (shared_noise.h).
// If the counts of the block contradict normal margins, both answer as probit:N:pooled does: what is learned from others makes
// an estimate worse if it is wrong in the same way everywhere.
#include <algorithm>
#include <cmath>

#include "probust/base/parallel.h"
#include "probust/estimators/common.h"
#include "probust/estimators/learning.h"

namespace probust {
namespace {

// What an estimate learns from: pairs, and propagated moments in place of the last one, unless margins are far from normal, where
// these do not help.
struct Sampled {
  std::vector<Pairs> pairs;
  Propagated moments;
};

// As far_from_normal, but with what is learned without propagated moments.
bool learned_far_from_normal(const Evaluation& evaluation, const SharedPoints& shared, const std::vector<Pairs>& pairs,
                             const StopToken* stop) {
  const Points& points = shared.points;
  SharedNoise noise = shared.noise;
  noise.keep(pairs[0].size());
  const LearnedMargins learned(pairs, points.target, points.x, evaluation.logits(), noise);
  return some_contradicted(pairs, points.target, stop, [&](std::int64_t i) -> std::optional<Estimate> {
    if (!learned.learned(i)) return std::nullopt;
    return from_moments(learned.moments(i), points.target[i], stop);
  });
}

Sampled sampled(Evaluation& evaluation, const Noise& noise, const SharedPoints& shared, std::int64_t forwards) {
  Executor& executor = evaluation.executor();
  const Points& points = shared.points;
  Sampled result;
  const std::int64_t all = forwards / 2, first = may_propagate(points, noise) ? pairs_beside_propagation(forwards) : all;
  result.pairs = executor.pairs(points, noise, first).value();
  if (first == all || learned_far_from_normal(evaluation, shared, result.pairs, &executor.progress.stop)) return result;
  result.moments = propagated(evaluation, noise);
  if (!result.moments) result.pairs = with_pairs_up_to(all, executor, points, noise, std::move(result.pairs));
  return result;
}

std::vector<Estimate> estimate_learning(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked, bool share) {
  const Points& points = evaluation.points();
  const std::int64_t n = points.size(), pairs = asked.samples / 2;
  if (n == 0) return {};
  check_all_fit(evaluation.executor(), n, bytes_to_learn(n, pairs, evaluation.executor().classes()));
  SharedPoints shared = share ? share_draws(points, noise, pairs) : SharedPoints{points};
  const auto [sampled_pairs, moments] = sampled(evaluation, noise, shared, asked.samples);
  shared.noise.keep(sampled_pairs[0].size());
  std::vector<Estimate> estimates = estimates_from_learned(evaluation, shared, sampled_pairs, moments);
  count_propagation(moments, estimates);
  return estimates;
}

}  // namespace

std::vector<Estimate> estimates_from_learned(Evaluation& evaluation, const SharedPoints& shared,
                                             const std::vector<Pairs>& sampled, const Propagated& propagated) {
  Executor& executor = evaluation.executor();
  const Points& points = shared.points;
  const std::int64_t n = points.size(), copies = 2 * sampled[0].size();
  const LearnedMargins learned(sampled, points.target, points.x, evaluation.logits(), shared.noise, propagated);
  std::vector<Estimate> estimates(static_cast<std::size_t>(n));
  std::vector<std::int64_t> kept(estimates.size());
  const std::atomic<bool>* stop = &executor.progress.stop;
  parallel_for(n, executor.options().threads, [&](std::int64_t i, int) {
    stop_if_asked(stop);
    kept[i] = count_kept(sampled[i], points.target[i]);
    if (!learned.learned(i)) return void(estimates[i] = estimate_from_pairs(sampled[i], points.target[i], stop));
    estimates[i] = from_moments(learned.moments(i), points.target[i], stop);
    estimates[i].forwards = copies;
  });
  if (contradicted(estimates, kept, copies)) return estimates_from_pooled(evaluation, sampled);
  parallel_for(n, executor.options().threads, [&](std::int64_t i, int) {
    stop_if_asked(stop);
    if (!learned.learned(i)) return;
    const Rivals nearest = some_rivals(sampled[i], points.target[i], most_threatening(sampled[i]));
    judge(estimates[i], std_error_of_z(learned, i, nearest), kept[i], copies, 1, kCountedIfAgreed);
  });
  return estimates;
}

std::vector<Estimate> estimate_probit_learned(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return estimate_learning(evaluation, noise, asked, false);
}

std::vector<Estimate> estimate_probit_shared(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return estimate_learning(evaluation, noise, asked, true);
}

}  // namespace probust
