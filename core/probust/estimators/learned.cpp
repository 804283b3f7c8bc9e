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

constexpr std::uint32_t kDraws = 12;   // from the posterior, for a standard error
constexpr double kStandardErrors = 2;  // by which the dispersion of counts may exceed that of normal margins

// The pairs of a block whose points share draws of the noise: the noise of a point is keyed by its draw instead of its position.
std::vector<Pairs> sample_shared(Executor& executor, const Points& points, const Noise& noise, const SharedNoise& shared) {
  std::vector<std::vector<std::int64_t>> keys = shared.draw;
  for (std::vector<std::int64_t>& of_pair : keys) {
    for (std::int64_t& key : of_pair) key += points.index[0];
  }
  return executor.shared_pairs(points, noise, keys).value();
}

// The standard error of z = Phi^-1(p) of a learned point, from draws of its moments, by its nearest rivals.
double std_error_of_z(const LearnedMargins& learned, std::int64_t i, const Pairs& pairs, std::int64_t target) {
  const Rivals rivals = some_rivals(pairs, target, most_threatening(pairs));
  const MarginMoments centre = learned.moments(i);
  double sum = 0, squares = 0;
  for (std::uint32_t k = 0; k < kDraws; ++k) {
    const MarginMoments all = learned.draw(i, centre, k);
    const double z = rough_z({all.mean(rivals.rows), all.covariance(rivals.rows, rivals.rows)}, rivals.target);
    sum += z;
    squares += z * z;
  }
  const double mean = sum / kDraws;
  return std::sqrt(std::max(0.0, squares / kDraws - mean * mean) * kDraws / (kDraws - 1));
}

// Whether counts of `copies` copies scatter more about the probabilities than counts of copies with normal margins do. The
// expected square of their difference is at most p (1 - p) / copies, because an efficient estimate is uncorrelated with its
// difference to the share of the copies (Hausman, "Specification tests in econometrics", Econometrica 1978).
bool contradicted(const std::vector<Estimate>& estimates, const std::vector<std::int64_t>& kept, std::int64_t copies) {
  const auto n = static_cast<double>(copies);
  double squares = 0, expected = 0, expected_squares = 0;
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    if (!std::isfinite(estimates[i].p)) continue;
    const double p = std::clamp(estimates[i].p, 0.5 / n, 1 - 0.5 / n), variance = p * (1 - p) / n;
    squares += std::pow(static_cast<double>(kept[i]) / n - estimates[i].p, 2);
    expected += variance;
    expected_squares += variance * variance;
  }
  return squares > expected + kStandardErrors * std::sqrt(2 * expected_squares);
}

std::vector<Estimate> estimate_learning(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked, bool share) {
  Executor& executor = evaluation.executor();
  const Points& points = evaluation.points();
  const std::int64_t n = points.size(), pairs = asked.samples / 2, classes = executor.classes();
  if (n == 0) return {};
  check_all_fit(executor, n, 3 * bytes_of_pairs(pairs, classes) + 48 * classes * classes + 128 * n);
  const SharedNoise shared = share ? share_noise(n, pairs, points.seed, points.index[0]) : SharedNoise{};
  const std::vector<Pairs> sampled =
      share ? sample_shared(executor, points, noise, shared) : executor.pairs(points, noise, pairs).value();
  const LearnedMargins learned(sampled, points.target, points.x, evaluation.logits(), shared);
  std::vector<Estimate> estimates(static_cast<std::size_t>(n));
  std::vector<std::int64_t> kept(estimates.size());
  const std::atomic<bool>* stop = &executor.progress.stop;
  parallel_for(n, executor.options().threads, [&](std::int64_t i, int) {
    stop_if_asked(stop);
    kept[i] = count_kept(sampled[i], points.target[i]);
    if (!learned.learned(i)) return void(estimates[i] = estimate_from_pairs(sampled[i], points.target[i], stop));
    estimates[i] = from_moments(learned.moments(i), points.target[i], stop);
    estimates[i].forwards = 2 * pairs;
  });
  if (contradicted(estimates, kept, 2 * pairs)) return estimates_from_pooled(evaluation, sampled);
  parallel_for(n, executor.options().threads, [&](std::int64_t i, int) {
    stop_if_asked(stop);
    if (learned.learned(i)) judge(estimates[i], std_error_of_z(learned, i, sampled[i], points.target[i]), kept[i], 2 * pairs, 1);
  });
  return estimates;
}

}  // namespace

std::vector<Estimate> estimate_probit_learned(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return estimate_learning(evaluation, noise, asked, false);
}

std::vector<Estimate> estimate_probit_shared(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return estimate_learning(evaluation, noise, asked, !noise.shape->differs());
}

}  // namespace probust
