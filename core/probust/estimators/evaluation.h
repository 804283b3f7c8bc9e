// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "probust/estimators/estimate.h"
#include "probust/exec/executor.h"

namespace probust {

/// A way to linearise a classifier around points.
struct Linearizing {
  std::string key;           ///< linearizations with the same key are equal
  std::int64_t samples = 0;  ///< noisy samples of each point to average over
  std::function<std::vector<Linearization>(Executor&, const Points&)> ask;
};

/// The linearization at the points, for one noise shape. It does not depend on the scale.
Linearizing at_points(const Noise& noise);

/// The linearization of the mean of the classifier under the noise, by moment propagation.
Linearizing under_noise(const Noise& noise);

/// The linearization averaged over `samples` noisy samples.
Linearizing over_samples(const Noise& noise, std::int64_t samples);

/// A block of points to evaluate. Estimators share its linearizations.
class Evaluation {
 public:
  /// `logits` [N, C] are the logits at the points, without noise.
  Evaluation(Executor& executor, Points points, Tensor logits, Event event = {})
      : executor_(executor), points_(std::move(points)), logits_(std::move(logits)), event_(std::move(event)) {}

  Executor& executor() { return executor_; }
  const Executor& executor() const { return executor_; }
  const Points& points() const { return points_; }
  const Tensor& logits() const { return logits_; }
  const Event& event() const { return event_; }

  /// Calls use(some, first) for one part of the points after another: `some` are the linearizations of consecutive points,
  /// beginning with point `first`. Linearizations are cached for the next call unless they take too much of the executor's
  /// memory. Throws Error{resources} if the memory is too small for one point.
  void each_linearized(const Linearizing& how, const std::function<void(std::span<const Linearization>, std::int64_t)>& use);

 private:
  Executor& executor_;
  Points points_;
  Tensor logits_;
  Event event_;
  std::map<std::string, std::vector<Linearization>> known_;
  std::int64_t known_bytes_ = 0;
};

}  // namespace probust
