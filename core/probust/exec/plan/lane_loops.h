// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "probust/base/parallel.h"
#include "probust/exec/batch_device.h"

namespace probust {

/// Lanes `begin` .. `begin` + `lanes` - 1 of the same samples.
inline SampleRange part(SampleRange range, std::int64_t begin, std::int64_t lanes) {
  range.begin = begin;
  range.lanes = lanes;
  return range;
}

/// Loops over the lanes of a device. They handle its workers, batches and stop requests, and throw Error.
class LaneLoops {
 public:
  LaneLoops(BatchDevice& device, Progress& progress) : device_(device), progress_(progress) {}

  BatchDevice& device() const { return device_; }
  std::int64_t rivals() const { return device_.facts().classes - 1; }
  void stop_if_asked() const { probust::stop_if_asked(&progress_.stop); }

  /// Splits 0..total-1 into chunks of `step` and calls body(first, count, worker) for each. Chunks are smaller if some workers
  /// would be idle otherwise.
  void for_chunks(std::int64_t total, std::int64_t step, const std::function<void(std::int64_t, std::int64_t, int)>& body) const {
    const int workers = device_.facts().workers;
    step = std::max<std::int64_t>(1, std::min(step, (total + workers - 1) / workers));
    parallel_for((total + step - 1) / step, workers, [&](std::int64_t task, int worker) {
      stop_if_asked();
      body(task * step, std::min(step, total - task * step), worker);
    });
  }

  /// Draws the samples `all` of every placed point, in chunks, and calls body(samples, worker, meanwhile) for each chunk. The
  /// body must call meanwhile() while the device computes: this draws the next samples, which may take time on the host.
  template <class Body>
  void for_ranges(const PlacedPoints& placed, const SampleRange& all, const Body& body) const {
    const std::int64_t total = placed.points.size() * all.count;
    for_chunks(total, device_.facts().forward_batch.examples, [&](std::int64_t begin, std::int64_t lanes, int worker) {
      draw_chunk(placed, part(all, begin, lanes), total, worker, body);
    });
  }

  /// for_ranges with one worker.
  template <class Body>
  void for_ranges(const PlacedPoints& placed, const SampleRange& all, int worker, const Body& body) const {
    const std::int64_t total = placed.points.size() * all.count, step = device_.facts().forward_batch.examples;
    for (std::int64_t begin = 0; begin < total; begin += step) {
      stop_if_asked();
      draw_chunk(placed, part(all, begin, std::min(step, total - begin)), total, worker, body);
    }
  }

 private:
  template <class Body>
  void draw_chunk(const PlacedPoints& placed, const SampleRange& range, std::int64_t total, int worker, const Body& body) const {
    device_.inputs().draw(worker, placed, range);
    const std::int64_t next = range.begin + range.lanes;
    body(range, worker, [&] {
      if (next < total) device_.inputs().draw_soon(worker, placed, part(range, next, std::min(range.lanes, total - next)));
    });
  }

  BatchDevice& device_;
  Progress& progress_;
};

}  // namespace probust
