// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "probust/exec/cpu/block.h"
#include "probust/exec/cpu/four.h"
#include "probust/exec/cpu/grid_images.h"

// Computes where grid_sample.cpp samples images, and with which weights.
namespace probust::cpu {

/// The constants of an axis as Eigen's packets; all values of a packet are equal.
struct AxisPackets {
  float weight[GridAxis::kPowers][GridAxis::kTaps][kPacket];
  float lowest[kPacket], highest[kPacket];

  explicit AxisPackets(const GridAxis& axis) {
    for (int i = 0; i < kPacket; ++i) {
      lowest[i] = axis.lowest;
      highest[i] = axis.highest;
      for (int power = 0; power < GridAxis::kPowers; ++power) {
        for (int tap = 0; tap < GridAxis::kTaps; ++tap) weight[power][tap][i] = axis.weight[power][tap];
      }
    }
  }
};

/// For the positions of some lanes along one axis: returns the pixels from which u is measured, as GridAxis::place does, and
/// stores the weights of the taps.
template <int taps>
Packet place_packet(const GridAxis& axis, const AxisPackets& packets, Packet at, float* weights) {
  using namespace Eigen::internal;
  const auto load = [](const float* values) { return ploadu<Packet>(values); };
  Packet pixel = taps == 1 ? print(at) : pfloor(at);
  const Packet u = psub(at, pixel);
  for (int tap = 0; tap < taps; ++tap) {
    Packet weight = load(packets.weight[taps - 1][tap]);
    for (int power = taps - 2; power >= 0; --power) weight = pmadd(weight, u, load(packets.weight[power][tap]));
    if (taps == 1) weight = padd(weight, pmul(u, pset1<Packet>(0)));  // NaN if the position is not finite
    pstoreu(weights + tap * kSampledLanes, weight);
  }
  if (axis.period > 0) {
    const auto length = pset1<Packet>(static_cast<float>(axis.period));
    pixel = psub(pixel, pmul(length, pfloor(pdiv(pixel, length))));
  }
  return pmin(load(packets.highest), pmax(load(packets.lowest), pixel));  // in this order, NaN becomes a valid pixel
}

/// Where each lane of a group samples its image for one position, and the weights of the taps. Unused lanes are set as for
/// position 0.
template <int taps>
struct Places {
  float rows[taps][kSampledLanes], columns[taps][kSampledLanes];
  float rows_of[kSampledLanes][taps];  // `rows` transposed, if pair_rows() was called
  std::int32_t offset[kSampledLanes];  // offset of the first tap among the reached pixels
};

/// Transposes `rows` into `rows_of`.
template <std::int64_t packet = kPacket>
void pair_rows(Places<4>& places) {
  if constexpr (packet > 4) {
    using namespace Eigen::internal;
    for (std::int64_t first = 0; first < kSampledLanes; first += packet) {
      FourPackets rows;
      for (int i = 0; i < 4; ++i) rows.packet[i] = ploadu<Packet>(places.rows[i] + first);
      ptranspose(rows);
      for (int i = 0; i < 4; ++i) pstoreu(places.rows_of[first + i * packet / 4], rows.packet[i]);
    }
  } else {
    for (std::int64_t first = 0; first < kSampledLanes; first += 4) {
      Four square[4];
      for (int i = 0; i < 4; ++i) square[i] = load_four(places.rows[i] + first);
      transpose(square);
      for (int l = 0; l < 4; ++l) store_four(square[l], places.rows_of[first + l]);
    }
  }
}

/// Finds where a group of lanes samples its images.
template <int taps>
class PlaceFinder {
 public:
  explicit PlaceFinder(const Sampling& s)
      : rows_(s.rows.axis),
        columns_(s.columns.axis),
        row_packets_(rows_),
        column_packets_(columns_),
        width_(static_cast<float>(s.columns.count)),
        origin_(static_cast<float>((-rows_.before - s.rows.first) * s.columns.count - columns_.before - s.columns.first)) {}

  void find(const float* row, const float* column, std::int64_t lanes, Places<taps>& places) const {
    if (lanes == kSampledLanes) return find_all(row, column, places);
    float rows[kSampledLanes]{}, columns[kSampledLanes]{};
    std::copy_n(row, lanes, rows);
    std::copy_n(column, lanes, columns);
    find_all(rows, columns, places);
  }

 private:
  void find_all(const float* row, const float* column, Places<taps>& places) const {
    using namespace Eigen::internal;
    float offsets[kSampledLanes];
    for (std::int64_t l = 0; l < kSampledLanes; l += kPacket) {
      const Packet r = place_packet<taps>(rows_, row_packets_, ploadu<Packet>(row + l), places.rows[0] + l);
      const Packet c = place_packet<taps>(columns_, column_packets_, ploadu<Packet>(column + l), places.columns[0] + l);
      pstoreu(offsets + l, padd(pmadd(r, pset1<Packet>(width_), c), pset1<Packet>(origin_)));
    }
    for (int l = 0; l < kSampledLanes; l += 4) {
      using Integers = std::int32_t __attribute__((vector_size(sizeof(Four))));
      const auto four = __builtin_convertvector(load_four(offsets + l), Integers);
      std::memcpy(places.offset + l, &four, sizeof four);
    }
  }

  GridAxis rows_, columns_;
  AxisPackets row_packets_, column_packets_;
  float width_, origin_;
};

}  // namespace probust::cpu
