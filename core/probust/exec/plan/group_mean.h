// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "probust/exec/plan/lane_loops.h"

namespace probust {

/// Margins and gradients of a few points, averaged over `samples` noisy copies that are added little by little. Sums run in the
/// order of the copies, so the result depends neither on the instalments nor on the points that share a sweep.
class GroupMean {
 public:
  GroupMean(const LaneLoops& loops, Points points, const Noise& noise, std::int64_t samples, const Sweep& which);
  GroupMean(const GroupMean&) = delete;
  GroupMean& operator=(const GroupMean&) = delete;

  /// Adds copies until each point has at least `count`, in whole batches. With the last ones the results are computed.
  void add(std::int64_t count, int worker);
  bool done() const { return done_ == samples_; }
  std::int64_t copies() const { return done_; }  ///< added so far, of each point

  /// One per point, once it is done.
  std::vector<Linearization>& results() { return results_; }

 private:
  void add_batch(const CopyRange& copies, int worker);
  void finish(int worker);

  const LaneLoops& loops_;
  Points points_;
  Noise noise_;
  std::int64_t samples_, done_ = 0;  // copies of each point
  Sweep which_;
  std::unique_ptr<PlacedPoints> placed_;
  std::unique_ptr<DeviceBuffer> sums_;
  std::vector<Linearization> results_;
};

}  // namespace probust
