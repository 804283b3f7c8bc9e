// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>

#include "probust/base/host_device.h"
#include "probust/graph/attributes.h"

namespace probust {

/// Interpolation along one axis of an image, for `grid_sample`. At a position r, tap k reads pixel cell(first + k) with a
/// weight that is a cubic polynomial in u, the distance of r from the pixel before it (from the nearest pixel, if taps == 1).
/// This is a plain value that kernels can copy to devices.
struct GridAxis {
  static constexpr int kTaps = 4, kPowers = 4;

  std::int32_t extent = 1;         ///< pixels
  std::int32_t taps = 1;           ///< 1, 2 or 4
  std::int32_t before = 0;         ///< number of taps before the pixel from which u is measured
  float lowest = 0, highest = 0;   ///< pixels are clamped to this range, beyond which all positions read the same
  std::int32_t period = 0;         ///< the period of a reflected image; otherwise 0
  bool zeros = false;              ///< whether the image is zero beyond its border
  bool twice = false;              ///< whether reflection repeats the outermost pixels
  float weight[kPowers][kTaps]{};  ///< [power of u][tap]

  struct Place {
    std::int32_t first;  ///< number of the first tap's cell; cell() maps it into the image
    float u;             ///< NaN if the position is not finite
  };

  PROBUST_HOST_DEVICE Place place(float position) const {
    float pixel = taps == 1 ? std::nearbyint(position) : std::floor(position);
    const float u = position - pixel;
    if (period > 0) {
      const auto length = static_cast<float>(period);
      pixel -= length * std::floor(pixel / length);
    }
    pixel = pixel > lowest ? pixel : lowest;  // in this order, NaN becomes a valid pixel
    pixel = pixel < highest ? pixel : highest;
    return {static_cast<std::int32_t>(pixel) - before, u};
  }

  /// The pixel that a tap reads, or -1 for a zero.
  PROBUST_HOST_DEVICE std::int32_t cell(std::int32_t tap) const {
    if (zeros) return tap >= 0 && tap < extent ? tap : -1;
    if (period > 0) {
      tap = tap % period + (tap % period < 0 ? period : 0);
      return tap < extent ? tap : period - (twice ? 1 : 0) - tap;
    }
    return tap < 0 ? 0 : tap < extent ? tap : extent - 1;
  }

  template <class Number>
  PROBUST_HOST_DEVICE Number weight_of(int tap, Number u) const {
    return ((Number{weight[3][tap]} * u + Number{weight[2][tap]}) * u + Number{weight[1][tap]}) * u + Number{weight[0][tap]};
  }
};

GridAxis row_axis(const GridAttributes& attributes);
GridAxis column_axis(const GridAttributes& attributes);

}  // namespace probust
