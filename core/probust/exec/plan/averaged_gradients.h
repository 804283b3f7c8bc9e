// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "probust/exec/plan/lane_loops.h"

namespace probust {

/// Margins and gradients of a few points, averaged over `samples` noisy samples that are added in batches. Sums run in the
/// order of the samples, so the result depends neither on the batches nor on the points that share a sweep.
class AveragedGradients {
 public:
  AveragedGradients(const LaneLoops& loops, Points points, const Noise& noise, std::int64_t samples, const Sweep& which);
  AveragedGradients(const AveragedGradients&) = delete;
  AveragedGradients& operator=(const AveragedGradients&) = delete;

  /// Adds whole batches of samples until each point has at least `count`. Computes the results after the last batch.
  void add(std::int64_t count, int worker);
  bool done() const { return done_ == samples_; }
  std::int64_t added() const { return done_; }  ///< samples added so far, per point

  /// One result per point, available after the last batch.
  std::vector<Linearization>& results() { return results_; }

 private:
  void add_batch(const SampleRange& range, int worker);
  void finish(int worker);

  const LaneLoops& loops_;
  Points points_;
  Noise noise_;
  std::int64_t samples_, done_ = 0;  // samples per point
  Sweep which_;
  std::unique_ptr<PlacedPoints> placed_;
  std::unique_ptr<DeviceBuffer> sums_;
  std::vector<Linearization> results_;
};

}  // namespace probust
