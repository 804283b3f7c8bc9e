// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "probust/exec/cpu/block.h"
#include "probust/ops/grid_axis.h"

// Prepares the images that grid_sample.cpp samples: copies those of a few lanes to contiguous memory, including the pixels beyond
// the border.
namespace probust::cpu {

/// The number of lanes in a group. One pixel of this many lanes fills a cache line.
inline constexpr std::int64_t kSampledLanes = kBlock;
/// The number of floats in copies of images, which then fit in the second-level cache, unless one plane of all lanes has more.
inline constexpr std::int64_t kSampledFloats = std::int64_t{1} << 17;
/// The largest number of reached pixels. It is limited because their indices are computed as floats.
inline constexpr std::int64_t kMostReached = std::int64_t{1} << 24;

/// The pixels that taps can reach along an axis.
struct ReachedPixels {
  GridAxis axis;
  std::int64_t first, count;         // the first reached pixel of the axis, and the number of reached pixels
  std::vector<std::int64_t> pixel;   // for each reached pixel, the pixel of the image that it repeats; -1 for a zero
  std::vector<std::int64_t> beyond;  // indices of the reached pixels that are beyond the border

  explicit ReachedPixels(const GridAxis& of)
      : axis(of),
        first(static_cast<std::int64_t>(axis.lowest) - axis.before),
        count(static_cast<std::int64_t>(axis.highest) - axis.before + axis.taps - first) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t tap = first + i;
      pixel.push_back(axis.cell(static_cast<std::int32_t>(tap)));
      if (tap < 0 || tap >= axis.extent) beyond.push_back(i);
    }
  }
};

/// The plan of one node: images [images, channels, pixels], sampled at positions [images, 2, positions].
struct Sampling {
  ReachedPixels rows, columns;
  std::int64_t images, channels, pixels, positions;

  Sampling(const GridAttributes& grid, const Shape& values, const Shape& at)
      : rows(row_axis(grid)),
        columns(column_axis(grid)),
        images(values[0]),
        channels(values[1]),
        pixels(grid.rows * grid.columns),
        positions(element_count({at.begin() + 2, at.end()})) {}

  std::int64_t reached() const { return rows.count * columns.count; }
  /// How many channels to sample at a time: four, because channels have the same taps, but only one if the image is large.
  std::int64_t sampled_together() const { return channels == 1 || channels_in(4 * kSampledFloats) < 4 ? 1 : 4; }
  /// How many channels to process at a time in the transpose.
  std::int64_t added_together() const {
    return std::clamp<std::int64_t>(channels_in(kSampledFloats), 1, std::max<std::int64_t>(1, channels));
  }

 private:
  std::int64_t channels_in(std::int64_t floats) const { return floats / (kSampledLanes * reached()); }
};

/// Copies planes of the images in lanes first .. first + lanes - 1, of `own` lanes, to [lane][planes / channels][reached row]
/// [reached column][channels]. Missing channels become zeros. Defined for 1 and 4 channels.
template <int channels>
void surround(const Sampling& s, const float* from, std::int64_t own, std::int64_t first, std::int64_t lanes, std::int64_t planes,
              float* to);

/// Copies planes of one image [plane][pixel] to [planes / channels][reached row][reached column][rows][channels]. Each reached
/// pixel is followed by the pixels below it, or by its other channels, so that one load contains more taps. Defined for
/// <1, 1>, <2, 1> and <1, 4>.
template <int rows, int channels>
void surround_one(const Sampling& s, const float* from, std::int64_t planes, float* to);

/// The transpose of surround<1>: sets each pixel of the planes in these lanes to the sum over its copies. Modifies `from`.
void fold(const Sampling& s, float* from, std::int64_t own, std::int64_t first, std::int64_t lanes, std::int64_t planes,
          float* to);

}  // namespace probust::cpu
