// SPDX-License-Identifier: MIT
//
// How often a model is right, without noise and under noise.
#pragma once

#include <cstdint>

#include "probust/analysis/groups.h"
#include "probust/analysis/statistics.h"

namespace probust {

/// A count of successes, and the 95% interval of the probability of success.
struct Proportion {
  std::int64_t count = 0, of = 0;
  double share = 0, low = 0, high = 0;  ///< the share of successes and its interval; NaN, 0 and 1 if `of` is 0
};

/// Wilson's score interval (Wilson, "Probable inference, the law of succession, and statistical inference", JASA 1927).
Proportion proportion(std::int64_t count, std::int64_t of);

/// The share of labelled points whose prediction is the label.
Proportion clean_accuracy(const RowGroup& group);

/// The mean of p_label over the points that have it, with its 95% interval. p_label is the probability that noisy samples get
/// the label of their point.
MeanInterval noisy_accuracy(const RowGroup& group);

}  // namespace probust
