// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "probust/estimators/estimator.h"

namespace probust {

/// How often each class is among the `top` largest logits of the noisy copies first .. first + samples - 1: [N][C] counts. The
/// lower index wins ties; a copy with a NaN logit counts for no class. Throws Error.
std::vector<std::vector<std::int64_t>> count_placed(Executor& executor, const Points& points, const Noise& noise,
                                                    std::int64_t samples, std::int64_t top, std::int64_t first = 0);

/// Whether one copy's logits [C] keep what the event asks of `target`.
bool keeps(const Event& event, std::span<const float> logits, std::int64_t target);

/// How many of the copies counted so for the event's `top` keep what it asks of `target`.
std::int64_t kept_of(const Event& event, const std::vector<std::int64_t>& placed, std::int64_t target);

/// `count` copies of x [1, ...] as rows [count, ...]. fill(first, lanes, x) makes copies first .. first + lanes - 1, laid out
/// [elements][lanes], noisy; it is called by several threads.
Tensor noisy_rows(const Tensor& x, std::int64_t count, int threads,
                  const std::function<void(std::int64_t first, std::int64_t count, float* x)>& fill);

}  // namespace probust
