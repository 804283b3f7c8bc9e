// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probust/estimators/estimator.h"

namespace probust {

/// How to divide `total` samples among estimates, given the variance v_i of one sample: n_i is proportional to v_i^(1/3), which
/// minimizes the sum of the standard errors sqrt(v_i / n_i). (Neyman 1934 minimizes the sum of the variances, with v_i^(1/2).)
/// The n_i are even, have few different values, are at least 8, and add up to at most `total`. Throws Error{usage} if `total`
/// is too small.
std::vector<std::int64_t> allocate(std::span<const double> variances, std::int64_t total);

/// Estimates of `auto` with a budget of `total` forwards for all points [N] under all noise models together: [noises][N]. A
/// pilot with a few samples per estimate measures the variance of one sample; its noise is independent of the noise of the
/// estimate. `logits` [N, C] are those at the points. The number of samples of an estimate depends on all other estimates.
/// Error{usage} if the total is too small for the pilot and the minimum number of samples of each estimate.
Result<std::vector<std::vector<Estimate>>> estimate_within(Executor& executor, const Points& points, const Tensor& logits,
                                                           std::span<const Noise> noises, const Event& event, std::int64_t total);

}  // namespace probust
