// SPDX-License-Identifier: MIT
// Counts of noisy samples. The executor counts the largest logits on its device. Places among the `top` largest logits are
// counted here, from downloaded logits.
#include "probust/estimators/statistics/counts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "probust/base/parallel.h"
#include "probust/estimators/common.h"
#include "probust/estimators/statistics/pair_statistics.h"

namespace probust {
namespace {

constexpr std::int64_t kLanes = 256;  // samples whose noise is drawn together

void place(std::span<const float> logits, std::int64_t top, std::vector<std::int64_t>& order, std::vector<std::int64_t>& counts) {
  if (std::any_of(logits.begin(), logits.end(), [](float value) { return std::isnan(value); })) return;
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](std::int64_t a, std::int64_t b) { return logits[a] > logits[b] || (logits[a] == logits[b] && a < b); };
  std::nth_element(order.begin(), order.begin() + (top - 1), order.end(), before);
  for (std::int64_t k = 0; k < top; ++k) ++counts[order[k]];
}

}  // namespace

Tensor noisy_rows(const Points& point, std::int64_t first, std::int64_t count, int threads,
                  const std::function<void(const NoiseLanes&, float*)>& make_noisy) {
  const std::int64_t elements = point.x.size();
  Shape shape = point.x.shape;
  shape[0] = count;
  Tensor result(shape);
  parallel_for((count + kLanes - 1) / kLanes, threads, [&](std::int64_t task, int) {
    const std::int64_t begin = task * kLanes, lanes = std::min(kLanes, count - begin);
    const std::vector<std::uint32_t> points(static_cast<std::size_t>(lanes), static_cast<std::uint32_t>(point.index[0]));
    std::vector<std::uint32_t> samples(points.size());
    std::iota(samples.begin(), samples.end(), static_cast<std::uint32_t>(first + begin));
    const Eigen::Map<const Eigen::RowVectorXf> at(point.x.data.data(), elements);
    Eigen::MatrixXf noisy = at.replicate(lanes, 1);  // by columns: [elements][lanes]
    make_noisy({point.seed, points, samples}, noisy.data());
    using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Eigen::Map<Rows>(result.data.data() + begin * elements, lanes, elements) = noisy;
  });
  return result;
}

std::vector<std::vector<std::int64_t>> count_placed(Executor& executor, const Points& points, const Noise& noise,
                                                    std::int64_t samples, std::int64_t top, std::int64_t first) {
  if (top == 1) return executor.sample(points, noise, samples, first).value();
  check(executor, points);
  const std::int64_t classes = executor.classes();
  std::vector<std::vector<std::int64_t>> counts(static_cast<std::size_t>(points.size()),
                                                std::vector<std::int64_t>(static_cast<std::size_t>(classes), 0));
  std::vector<std::int64_t> order(static_cast<std::size_t>(classes));
  const auto noisy = [&](const NoiseLanes& lanes, float* x) {
    noise.shape->add(lanes, element_count(executor.point_shape()), static_cast<float>(noise.scale), x);
  };
  const std::int64_t step = points_at_once(executor, 8 * (element_count(executor.point_shape()) + classes));
  for (std::int64_t i = 0; i < points.size(); ++i) {
    const Points point = slice(points, i, 1);
    for (std::int64_t done = 0; done < samples; done += step) {
      const std::int64_t count = std::min(step, samples - done);
      const Tensor logits = executor.logits(noisy_rows(point, first + done, count, executor.options().threads, noisy)).value();
      for (std::int64_t j = 0; j < count; ++j) place(logits.row(j), top, order, counts[i]);
    }
  }
  return counts;
}

void count_largest(std::span<const float> logits, std::int64_t top, std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> order(logits.size());
  place(logits, top, order, counts);
}

std::vector<Estimate> estimates_from_counts(const Evaluation& evaluation, const std::vector<std::vector<std::int64_t>>& counts,
                                            std::int64_t trials) {
  const Event& event = evaluation.event();
  std::vector<Estimate> estimates;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int64_t survivors = survivors_of(event, counts[i], evaluation.points().target[i]);
    Estimate estimate = from_counts(survivors, trials, clopper_pearson(survivors, trials));
    if (const std::int64_t label = other_label(evaluation.points(), static_cast<std::int64_t>(i)); label >= 0) {
      const std::int64_t given = survivors_of(event, counts[i], label);
      estimate.set_label(from_counts(given, trials, clopper_pearson(given, trials)));
    }
    if (event.per_class) {
      for (const std::int64_t count : counts[i])
        estimate.classes.push_back(static_cast<double>(count) / static_cast<double>(trials));
    }
    estimates.push_back(estimate);
  }
  return estimates;
}

Estimate from_counts(std::int64_t survivors, std::int64_t trials, const Interval& p95) {
  const auto n = static_cast<double>(trials);
  Estimate estimate;
  estimate.p = static_cast<double>(survivors) / n;
  estimate.p_fail = static_cast<double>(trials - survivors) / n;
  estimate.std_error = std::sqrt(estimate.p * estimate.p_fail / n);
  estimate.ci_low = p95.low;
  estimate.ci_high = p95.high;
  estimate.forwards = trials;
  return estimate;
}

std::vector<std::int64_t> placed_classes(const Event& event, std::span<const float> logits) {
  std::vector<std::int64_t> order(logits.size()), placed(logits.size(), 0);
  place(logits, event.top, order, placed);
  return placed;
}

bool keeps_target(const Event& event, std::span<const float> logits, std::int64_t target) {
  return survivors_of(event, placed_classes(event, logits), target) > 0;
}

std::int64_t survivors_of(const Event& event, const std::vector<std::int64_t>& placed, std::int64_t target) {
  std::int64_t survivors = 0;
  for (std::int64_t c = 0; c < static_cast<std::int64_t>(placed.size()); ++c)
    survivors += event.same_group(c, target) ? placed[c] : 0;
  return survivors;
}

}  // namespace probust
