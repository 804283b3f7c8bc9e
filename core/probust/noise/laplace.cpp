// SPDX-License-Identifier: MIT
// Laplace noise; its variance is twice the squared scale.
#include <numbers>

#include "probust/noise/independent.h"

namespace probust {

std::shared_ptr<const NoiseShape> laplace_noise() {
  static const auto shape = std::make_shared<const NearlyGaussian>("laplace", ElementNoise::Draw::laplace, std::numbers::sqrt2);
  return shape;
}

}  // namespace probust
