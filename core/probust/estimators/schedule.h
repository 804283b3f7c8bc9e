// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probust/estimators/estimator.h"

namespace probust {

/// How many copies each of several estimates gets of `total`, given what one copy's variance is: n_i in proportion to
/// v_i^(1/3), which makes the sum of the standard errors sqrt(v_i / n_i) least (Neyman 1934 for the sum of the variances, where
/// it is v_i^(1/2)). Of few different values, even, none below a least number; together at most `total`. Throws Error{usage}
/// where that does not go round.
std::vector<std::int64_t> allocate(std::span<const double> variances, std::int64_t total);

/// `auto` with a budget of `total` forwards for all points [N] under all noise models together: [noises][N] estimates. A pilot of
/// a few copies for each says how uncertain one copy is; its noise is not that of the estimate. `logits` [N, C] are those at
/// the points. What an estimate gets depends on all others. Errors: usage, where the total is too small for a pilot of each.
Result<std::vector<std::vector<Estimate>>> estimate_within(Executor& executor, const Points& points, const Tensor& logits,
                                                           std::span<const Noise> noises, const Event& event, std::int64_t total);

}  // namespace probust
