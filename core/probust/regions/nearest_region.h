// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "probust/base/stop.h"
#include "probust/regions/boxes.h"

namespace probust {

/// A region in which another class wins.
struct LosingRegion {
  double distance = 0;         ///< of the region from x
  std::vector<float> nearest;  ///< the point of the region that is nearest to x
  std::vector<float> inside;   ///< a point farther inside
};

struct NearestRegion {
  std::optional<LosingRegion> found;  ///< the nearest one, or the nearest one so far
  double bound = 0;                   ///< no losing region is nearer; the distance, or infinity if there is none, if finished
};

/// Divides boxes of the space in order of their distance until the nearest box loses, at most `divisions` times. `unit`
/// [elements] is the length that counts as 1 along each element; elements with unit 0 cannot change. `keeps` says whether the
/// target wins at a point of a box that the classifier itself must decide.
NearestRegion nearest_region(const StepModel& model, const MarginBounds& bounds, std::span<const float> x,
                             std::span<const double> unit, std::int64_t divisions,
                             const std::function<bool(const std::vector<float>&)>& keeps, const StopToken* stop);

}  // namespace probust
