// SPDX-License-Identifier: MIT
// Every element moves up or down by the scale, with equal probability.
#include "probust/noise/noise.h"

namespace probust {

std::shared_ptr<const NoiseShape> two_point_noise() {
  static const auto shape = custom_noise("two_point", [](NoiseStream& stream, double scale, std::span<float> x) {
    for (float& value : x) value += static_cast<float>(stream.uniform() < 0.5 ? -scale : scale);
  });
  return shape;
}

}  // namespace probust
