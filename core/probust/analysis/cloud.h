// SPDX-License-Identifier: MIT
//
// The noisy copies of a point themselves: what counting looks at, to be seen.
#pragma once

#include <cstdint>
#include <vector>

#include "probust/exec/executor.h"

namespace probust {

/// Noisy copies of one point, with the classifier's answers.
struct Cloud {
  Tensor x;                             ///< [count, ...] in the natural space
  std::vector<std::int64_t> predicted;  ///< [count] argmax of the logits, the lowest index on a tie; -1 where logits are NaN
};

/// Copies 0 .. count - 1 of the one point in `points`: those that Executor::sample counts, to the bit. Error{usage} unless there
/// is one point and at least one copy, Error{resources} where the copies are more than a tensor holds.
Result<Cloud> noisy_cloud(Executor& executor, const Points& points, const Noise& noise, std::int64_t count);

}  // namespace probust
