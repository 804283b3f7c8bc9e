// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "probust/exec/batch_device.h"
#include "probust/exec/cpu/block.h"

// Loops over lanes of noisy samples, on the CPU.
namespace probust {

/// Calls use(point, first_lane, end_lane) for runs of lanes of the same point.
template <class Use>
void for_points(const SampleRange& range, Use use) {
  for (std::int64_t lane = 0; lane < range.lanes;) {
    const std::int64_t i = range.point(lane), end = std::min(range.lanes, (i + 1) * range.count - range.begin);
    use(i, lane, end);
    lane = end;
  }
}

/// The number of lanes and of elements in a tile. If a point has fewer samples than this, its lanes are treated like those of
/// different points.
inline constexpr std::int64_t kTile = 16;

/// A square block of values of rows, in the layout of programs: tile[e][lane].
using Tile = std::array<std::array<float, kTile>, kTile>;

/// Reads elements e .. e + count - 1 of kTile rows.
inline void read_tile(const std::array<const float*, kTile>& rows, std::int64_t e, std::int64_t count, Tile& tile) {
  using cpu::kPacket, cpu::Packet;
  if (count < kTile) {
    for (std::int64_t k = 0; k < count; ++k) {
      for (std::int64_t lane = 0; lane < kTile; ++lane) tile[k][lane] = rows[lane][e + k];
    }
    return;
  }
  for (std::int64_t lane = 0; lane < kTile; lane += kPacket) {
    for (std::int64_t k = 0; k < kTile; k += kPacket) {
      cpu::Square block;
      for (std::int64_t i = 0; i < kPacket; ++i) block.packet[i] = Eigen::internal::ploadu<Packet>(rows[lane + i] + e + k);
      Eigen::internal::ptranspose(block);
      for (std::int64_t i = 0; i < kPacket; ++i) Eigen::internal::pstoreu(tile[k + i].data() + lane, block.packet[i]);
    }
  }
}

/// Calls use(to, values) for groups of up to kTile lanes of every element of x [elements][lanes]. `values` are the elements of
/// the lanes' rows; row_of(lane) points to the row of a lane.
template <class RowOf, class Use>
void for_rows(std::int64_t lanes, std::int64_t elements, float* x, const RowOf& row_of, Use use) {
  for (std::int64_t first = 0; first < lanes; first += kTile) {
    const std::int64_t width = std::min(kTile, lanes - first);
    std::array<const float*, kTile> rows;
    for (std::int64_t k = 0; k < kTile; ++k) rows[k] = row_of(first + std::min(k, width - 1));
    Tile tile;
    for (std::int64_t e = 0; e < elements; e += kTile) {
      const std::int64_t count = std::min(kTile, elements - e);
      read_tile(rows, e, count, tile);
      for (std::int64_t k = 0; k < count; ++k)
        use(std::span(x + (e + k) * lanes + first, static_cast<std::size_t>(width)), tile[k].data());
    }
  }
}

/// Applies change(old, value) to every element of every lane of x [elements][lanes]; `value` is the element of the lane's
/// point.
template <class Change>
void change_lanes(const PlacedPoints& placed, const SampleRange& range, std::int64_t elements, float* x, Change change) {
  const float* const points = placed.points.x.data.data();
  if (range.count < kTile) {
    const auto row_of = [&](std::int64_t lane) { return points + range.point(lane) * elements; };
    return for_rows(range.lanes, elements, x, row_of, [&](std::span<float> lanes, const float* values) {
      for (std::size_t k = 0; k < lanes.size(); ++k) lanes[k] = change(lanes[k], values[k]);
    });
  }
  for (std::int64_t e = 0; e < elements; ++e) {
    for_points(range, [&](std::int64_t i, std::int64_t from, std::int64_t to) {
      const float value = points[i * elements + e];
      for (std::int64_t lane = from; lane < to; ++lane) x[e * range.lanes + lane] = change(x[e * range.lanes + lane], value);
    });
  }
}

}  // namespace probust
