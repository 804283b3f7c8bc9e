// SPDX-License-Identifier: MIT
//
// The noisy copies of a point themselves: what counting looks at, to be seen.
#pragma once

#include <cstdint>
#include <utility>
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

/// The same part by part, for callers that may not be kept waiting: a StepwiseExecutor can forget what was answered after each.
class CloudMaker {
 public:
  /// Asks nothing yet. `executor` must outlive it. Throws Error where noisy_cloud has one.
  CloudMaker(Executor& executor, Points points, Noise noise, std::int64_t count);

  /// Makes as many copies more as a page can wait for; whether there are more to make. Throws the executor's Error, and then the
  /// same copies are made the next time: they are drawn once.
  bool advance();

  /// The cloud, once it is made; there is none left.
  Cloud take() { return std::move(cloud_); }

 private:
  std::int64_t done() const { return static_cast<std::int64_t>(cloud_.predicted.size()); }
  std::int64_t next_count() const;

  Executor& executor_;
  Points points_;
  Noise noise_;
  std::int64_t count_;
  Tensor drawn_;  // copies whose answers are asked for
  Cloud cloud_;
};

}  // namespace probust
