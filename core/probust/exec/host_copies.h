// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "probust/exec/lanes.h"

// Loops over copies of points in lanes, on the processor.
namespace probust {

/// Calls use(point, first_lane, end_lane) for runs of lanes that share a point.
template <class Use>
void for_points(const CopyRange& copies, Use use) {
  for (std::int64_t lane = 0; lane < copies.lanes;) {
    const std::int64_t i = copies.point(lane), end = std::min(copies.lanes, (i + 1) * copies.count - copies.begin);
    use(i, lane, end);
    lane = end;
  }
}

inline constexpr std::int64_t kLanesTogether =
    16;  ///< lanes; with fewer copies of a point, neighbouring lanes are taken to differ

/// Calls use(to, values) for groups of up to kLanesTogether lanes of every element of x, laid out [elements][lanes], with the
/// values of their points. For copies of many points.
template <class Use>
void for_groups(const PlacedPoints& placed, const CopyRange& copies, std::int64_t elements, float* x, Use use) {
  for (std::int64_t first = 0; first < copies.lanes; first += kLanesTogether) {
    const std::int64_t count = std::min(kLanesTogether, copies.lanes - first);
    std::array<const float*, kLanesTogether> points;
    for (std::int64_t k = 0; k < kLanesTogether; ++k)
      points[k] = placed.points.x.data.data() + copies.point(first + std::min(k, count - 1)) * elements;
    for (std::int64_t e = 0; e < elements; ++e) {
      std::array<float, kLanesTogether> values;
      for (std::int64_t k = 0; k < kLanesTogether; ++k) values[k] = points[k][e];
      use(std::span(x + e * copies.lanes + first, static_cast<std::size_t>(count)), values);
    }
  }
}

/// Applies change(old, value) to every element of every lane of x, laid out [elements][lanes]; `value` is that of the point.
template <class Change>
void change_lanes(const PlacedPoints& placed, const CopyRange& copies, std::int64_t elements, float* x, Change change) {
  if (copies.count < kLanesTogether) {
    return for_groups(placed, copies, elements, x, [&](std::span<float> lanes, const std::array<float, kLanesTogether>& values) {
      for (std::size_t k = 0; k < lanes.size(); ++k) lanes[k] = change(lanes[k], values[k]);
    });
  }
  for (std::int64_t e = 0; e < elements; ++e) {
    for_points(copies, [&](std::int64_t i, std::int64_t from, std::int64_t to) {
      const float value = placed.points.x.data[i * elements + e];
      for (std::int64_t lane = from; lane < to; ++lane) x[e * copies.lanes + lane] = change(x[e * copies.lanes + lane], value);
    });
  }
}

}  // namespace probust
