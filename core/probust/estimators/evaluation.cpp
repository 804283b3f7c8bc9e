// SPDX-License-Identifier: MIT
#include "probust/estimators/evaluation.h"

#include <algorithm>

namespace probust {

Linearizing at_points(const Noise& noise) {
  return {"at the points, " + noise.shape->name(), 0,
          [noise](Executor& executor, const Points& points) { return executor.linearize(points, *noise.shape).value(); }};
}

Linearizing under_noise(const Noise& noise) {
  return {"under the noise, " + noise.text(), 0,
          [noise](Executor& executor, const Points& points) { return executor.linearize_smoothed(points, noise).value(); }};
}

Linearizing over_samples(const Noise& noise, std::int64_t samples) {
  return {"over " + std::to_string(samples) + " noisy samples, " + noise.text(), samples,
          [noise, samples](Executor& executor, const Points& points) {
            return executor.linearize_averaged(points, noise, samples).value();
          }};
}

void Evaluation::each_linearized(const Linearizing& how,
                                 const std::function<void(std::span<const Linearization>, std::int64_t)>& use) {
  const auto known = known_.find(how.key);
  if (known != known_.end()) return use(known->second, 0);
  const std::int64_t n = points_.size(), gradients = executor_.backwards_to_linearize(), budget = executor_.options().memory / 4;
  const std::int64_t numbers = gradients * gradients + executor_.classes() * (2 + 3 * how.samples);
  const std::int64_t bytes = numbers * static_cast<std::int64_t>(sizeof(double));
  if (bytes > budget)
    throw Error{ErrorCode::resources, option("memory"),
                "is too small: the products of one point's margin gradients need " + std::to_string(bytes >> 10) + "K",
                "give at least " + std::to_string((bytes >> 8) + 1) + "K, or use mc:N"};
  if (known_bytes_ + n * bytes <= budget) {
    known_bytes_ += n * bytes;
    return use(known_[how.key] = how.ask(executor_, points_), 0);
  }
  const std::int64_t step = budget / bytes;
  for (std::int64_t first = 0; first < n; first += step)
    use(how.ask(executor_, slice(points_, first, std::min(step, n - first))), first);
}

}  // namespace probust
