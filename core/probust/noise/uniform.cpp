// SPDX-License-Identifier: MIT
// Uniform noise; its variance is a third of the squared half-width.
#include <numbers>

#include "probust/noise/independent.h"

namespace probust {

std::shared_ptr<const NoiseShape> uniform_noise() {
  static const auto shape =
      std::make_shared<const NearlyGaussian>("uniform", ElementNoise::Draw::uniform, std::numbers::inv_sqrt3);
  return shape;
}

}  // namespace probust
