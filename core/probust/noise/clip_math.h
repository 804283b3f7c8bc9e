// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "probust/base/host_device.h"
#include "probust/noise/noise.h"

namespace probust {

/// Clips and rounds one value to a range.
struct ClipMath {
  float low = 0, high = 0, step = 0;  ///< no rounding if step is 0

  ClipMath() = default;
  explicit ClipMath(const Quantization& range)
      : low(static_cast<float>(range.low)),
        high(static_cast<float>(range.high)),
        step(range.levels > 1 ? (high - low) / static_cast<float>(range.levels - 1) : 0.0F) {}

  PROBUST_HOST_DEVICE float operator()(float x) const {
    const float kept = x < low ? low : x > high ? high : x;  // NaN stays NaN
    return step > 0 ? low + step * std::nearbyint((kept - low) / step) : kept;
  }
};

}  // namespace probust
