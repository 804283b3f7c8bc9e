// SPDX-License-Identifier: MIT
//
// The noisy samples of a point, for display.
#pragma once

#include <cstdint>
#include <vector>

#include "probust/exec/pause/executor_job.h"

namespace probust {

/// Noisy samples of one point, with the classifier's predictions.
struct Cloud {
  Tensor x;                             ///< [count, ...] in the natural space
  std::vector<std::int64_t> predicted;  ///< [count] argmax of the logits, the lowest index on a tie; -1 if logits are NaN
};

/// Samples 0 .. count - 1 of the one point in `points`: bit-identical to those that Executor::sample counts. Error{usage} unless
/// there is one point and at least one sample, Error{resources} if a tensor cannot hold the samples.
Result<Cloud> noisy_cloud(Executor& executor, const Points& points, const Noise& noise, std::int64_t count);

/// noisy_cloud as a job.
class CloudMaker final : public ExecutorJob {
 public:
  /// `executor` must outlive this, and so must `external`, the source of its logits, if any. Throws the Errors of noisy_cloud.
  CloudMaker(Executor& executor, Points points, Noise noise, std::int64_t count, ExternalEngine* external = nullptr);

  std::int64_t planned() const override { return count_; }

  /// The samples drawn so far.
  const Cloud& cloud() const { return cloud_; }
  Cloud take() { return std::move(cloud_); }

 private:
  bool piece() override;
  std::int64_t made() const { return static_cast<std::int64_t>(cloud_.predicted.size()); }
  std::int64_t next_count() const;

  Points points_;
  Noise noise_;
  std::int64_t count_;
  Tensor drawn_;  // samples whose logits are still missing
  Cloud cloud_;
};

}  // namespace probust
