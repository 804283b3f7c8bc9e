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
#include "probust/estimators/regression_fit.h"

namespace probust {
namespace {

// What an estimate learns from: pairs, and propagated moments in place of the last one. If margins are far from normal
// both would be wasted.
struct Sampled {
  std::vector<Pairs> pairs;
  Propagated moments;
};

// Whether counts of some of the points contradict what is learned without propagated moments.
bool far_from_normal(const Evaluation& evaluation, SharedPoints shared, const std::vector<Pairs>& pairs, const StopToken* stop) {
  shared.noise.keep(pairs[0].size());
  const Points& points = shared.points;
  const LearnedMargins learned(pairs, points.target, points.x, evaluation.logits(), shared.noise);
  std::vector<Estimate> estimates;
  std::vector<std::int64_t> kept;
  for (const std::int64_t i : asked_points(points.size())) {
    stop_if_asked(stop);
    if (!learned.learned(i)) continue;
    estimates.push_back(from_moments(learned.moments(i), points.target[i], stop));
    kept.push_back(count_kept(pairs[i], points.target[i]));
  }
  return contradicted(estimates, kept, 2 * pairs[0].size());
}

Sampled sampled(Evaluation& evaluation, const Noise& noise, const SharedPoints& shared, std::int64_t forwards) {
  Executor& executor = evaluation.executor();
  const Points& points = shared.points;
  Sampled result;
  const std::int64_t all = forwards / 2, first = may_propagate(points, noise) ? pairs_beside_propagation(forwards) : all;
  result.pairs = executor.pairs(points, noise, first).value();
  if (first == all || far_from_normal(evaluation, shared, result.pairs, &executor.progress.stop)) return result;
  result.moments = propagated(evaluation, noise);
  if (result.moments) return result;
  const std::vector<Pairs> rest = executor.pairs(points, noise, all - first, first).value();
  for (std::size_t i = 0; i < rest.size(); ++i) result.pairs[i] = joined(result.pairs[i], rest[i]);
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
