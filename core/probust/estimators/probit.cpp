// SPDX-License-Identifier: MIT
// probit:N, the normal probability of margins with the mean and covariance of N noisy samples in antithetic pairs. It needs no
// gradients, so it works for any black box. Compared with the count of the same samples, it has some bias and a fraction of the
// variance. probit:N:pooled also uses the other points of the block (pooling.h).
#include <algorithm>
#include <cmath>

#include "probust/base/parallel.h"
#include "probust/estimators/common.h"
#include "probust/estimators/statistics/pair_statistics.h"
#include "probust/estimators/statistics/pooling.h"

namespace probust {
namespace {

Estimate probit(const Pairs& pairs, const CovarianceModel& model, std::int64_t target, std::int64_t survivors,
                const std::atomic<bool>* stop) {
  Estimate estimate = from_moments(model.with(PairMoments(pairs, 0, 1).moments()), target, stop);
  attach_interval(estimate, pairs, model, survivors, target, 1);
  estimate.forwards = 2 * pairs.size();
  return estimate;
}

}  // namespace

Estimate estimate_from_pairs(const Pairs& pairs, std::int64_t target, const std::atomic<bool>* stop) {
  const Rivals rivals = nearest_rivals(pairs, target);
  Estimate estimate = probit(rivals.pairs, own_alone(rivals.pairs.rivals()), rivals.target, count_survivors(pairs, target), stop);
  mark_left_out(estimate, rivals);
  return estimate;
}

void attach_label(Estimate& estimate, const Pairs& pairs, const Points& points, std::int64_t i, const std::atomic<bool>* stop) {
  const std::int64_t label = other_label(points, i);
  if (label < 0) return;
  estimate.set_label(estimate_from_pairs(retargeted(pairs, points.target[static_cast<std::size_t>(i)], label), label, stop));
}

std::vector<Estimate> estimates_from_pooled(const Evaluation& evaluation, const std::vector<Pairs>& sampled) {
  const Executor& executor = evaluation.executor();
  const Points& points = evaluation.points();
  const std::int64_t pairs = sampled.empty() ? 0 : sampled[0].size();
  std::vector<Eigen::MatrixXd> own;
  own.reserve(sampled.size());
  for (const Pairs& each : sampled) own.push_back(PairMoments(each, 0, 1).moments().covariance);
  const std::vector<CovarianceModel> models = pooled_covariances(own, points.target, evaluation.logits(), pairs);
  std::vector<Estimate> estimates(sampled.size());
  const std::atomic<bool>* stop = &executor.progress.stop;
  parallel_for(points.size(), executor.options().threads, [&](std::int64_t i, int) {
    stop_if_asked(stop);
    estimates[i] = probit(sampled[i], models[i], points.target[i], count_survivors(sampled[i], points.target[i]), stop);
    attach_label(estimates[i], sampled[i], points, i, stop);
  });
  return estimates;
}

std::vector<Estimate> estimate_probit(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  Executor& executor = evaluation.executor();
  const Points& points = evaluation.points();
  const std::int64_t pairs = asked.samples / 2;
  const std::int64_t step = points_at_once(executor, bytes_of_pairs(pairs, executor.classes()));
  std::vector<Estimate> estimates(static_cast<std::size_t>(points.size()));
  for (std::int64_t first = 0; first < points.size(); first += step) {
    const Points part = slice(points, first, std::min(step, points.size() - first));
    const std::vector<Pairs> sampled = executor.pairs(part, noise, pairs).value();
    parallel_for(part.size(), executor.options().threads, [&](std::int64_t i, int) {
      stop_if_asked(&executor.progress.stop);
      estimates[first + i] = estimate_from_pairs(sampled[i], part.target[i], &executor.progress.stop);
      attach_label(estimates[first + i], sampled[i], part, i, &executor.progress.stop);
    });
  }
  return estimates;
}

std::vector<Estimate> estimate_probit_pooled(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  Executor& executor = evaluation.executor();
  const Points& points = evaluation.points();
  const std::int64_t pairs = asked.samples / 2, classes = executor.classes();
  check_all_fit(executor, points.size(), bytes_of_pairs(pairs, classes) + 32 * classes * classes);
  return estimates_from_pooled(evaluation, executor.pairs(points, noise, pairs).value());
}

}  // namespace probust
