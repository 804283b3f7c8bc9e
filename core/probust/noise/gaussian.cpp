// SPDX-License-Identifier: MIT
// Isotropic Gaussian noise.
#include "probust/noise/independent.h"

namespace probust {

std::shared_ptr<const NoiseShape> isotropic_gaussian() {
  static const auto shape = std::make_shared<const IndependentNoise>("gaussian", draws::add_normal, 1.0);
  return shape;
}

}  // namespace probust
