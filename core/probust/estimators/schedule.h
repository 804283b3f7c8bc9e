// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probust/estimators/estimator.h"

namespace probust {

/// How to divide `total` samples among estimates, given the variance v_i of one sample: n_i is proportional to v_i^(1/3), which
/// minimizes the sum of the standard errors sqrt(v_i / n_i). (Neyman 1934 minimizes the sum of the variances, with v_i^(1/2).)
/// The n_i are even, take few different values, are at least 8 and add up to at most `total`. Throws Error{usage} if `total` is
/// too small.
std::vector<std::int64_t> allocate(std::span<const double> variances, std::int64_t total);

/// `auto` with a budget of `total` forwards for all points [N] under all noise models together: [noises][N] estimates. A pilot
/// with a few samples each measures the variance of one sample; its noise is independent of the estimate's. `logits` [N, C] are
/// those at the points. The number of samples of an estimate depends on all others. Error{usage} if the total is too small for a
/// pilot and the minimum number of samples each.
Result<std::vector<std::vector<Estimate>>> estimate_within(Executor& executor, const Points& points, const Tensor& logits,
                                                           std::span<const Noise> noises, const Event& event, std::int64_t total);

}  // namespace probust
