// SPDX-License-Identifier: MIT
//
// The noisy copies of a point, for display.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "probust/exec/executor.h"

namespace probust {

/// Noisy copies of one point, with the classifier's answers.
struct Cloud {
  Tensor x;                             ///< [count, ...] in the natural space
  std::vector<std::int64_t> predicted;  ///< [count] argmax of the logits, the lowest index on a tie; -1 if logits are NaN
};

/// Copies 0 .. count - 1 of the one point in `points`: bit-identical to those that Executor::sample counts. Error{usage} unless
/// there is one point and at least one copy, Error{resources} if a tensor cannot hold the copies.
Result<Cloud> noisy_cloud(Executor& executor, const Points& points, const Noise& noise, std::int64_t count);

/// The same in parts, for callers that must not block: a StepwiseExecutor can discard its results after each part.
class CloudMaker {
 public:
  /// Computes nothing yet. `executor` must outlive it. Throws the Errors of noisy_cloud.
  CloudMaker(Executor& executor, Points points, Noise noise, std::int64_t count);

  /// Makes a few milliseconds' worth of further copies; returns whether more are needed. If it throws the executor's Error, the
  /// next call repeats the same copies: they are drawn once.
  bool advance();

  /// Moves out the finished cloud; call once.
  Cloud take() { return std::move(cloud_); }

 private:
  std::int64_t done() const { return static_cast<std::int64_t>(cloud_.predicted.size()); }
  std::int64_t next_count() const;

  Executor& executor_;
  Points points_;
  Noise noise_;
  std::int64_t count_;
  Tensor drawn_;  // copies whose logits are still needed
  Cloud cloud_;
};

}  // namespace probust
