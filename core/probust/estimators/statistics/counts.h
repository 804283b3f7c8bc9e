// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "probust/estimators/estimator.h"
#include "probust/estimators/statistics/binomial.h"

namespace probust {

/// How often each class is among the `top` largest logits of the noisy samples first .. first + samples - 1: [N][C] counts. The
/// lower index wins ties; a sample with a NaN logit counts for no class. Throws Error.
std::vector<std::vector<std::int64_t>> count_placed(Executor& executor, const Points& points, const Noise& noise,
                                                    std::int64_t samples, std::int64_t top, std::int64_t first = 0);

/// Adds one to the counts [C] of the `top` largest logits [C], unless a logit is NaN.
void count_largest(std::span<const float> logits, std::int64_t top, std::vector<std::int64_t>& counts);

/// The estimates of a share of `trials` noisy samples, from count_placed: p, the label's probability and, if the event asks for
/// them, those of all classes. The intervals are those of Clopper and Pearson.
std::vector<Estimate> estimates_from_counts(const Evaluation& evaluation, const std::vector<std::vector<std::int64_t>>& counts,
                                            std::int64_t trials);

/// [C] 1 for the classes among the event's `top` largest logits, else 0. None if a logit is NaN.
std::vector<std::int64_t> placed_classes(const Event& event, std::span<const float> logits);

/// Whether a noisy sample with these logits [C] keeps the target, as `event` defines it.
bool keeps_target(const Event& event, std::span<const float> logits, std::int64_t target);

/// The number of samples that keep the target, from the counts of count_placed with the event's `top`.
std::int64_t survivors_of(const Event& event, const std::vector<std::int64_t>& placed, std::int64_t target);

/// The share `survivors` / `trials` with its binomial standard error, the interval `p95`, and one forward per trial.
Estimate from_counts(std::int64_t survivors, std::int64_t trials, const Interval& p95);

/// Noisy samples first .. first + count - 1 of one point as rows [count, ...]. make_noisy(lanes, x) adds the noise to a part of
/// them, [elements][lanes], and is called on several threads.
Tensor noisy_rows(const Points& point, std::int64_t first, std::int64_t count, int threads,
                  const std::function<void(const NoiseLanes& lanes, float* x)>& make_noisy);

}  // namespace probust
