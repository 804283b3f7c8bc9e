// SPDX-License-Identifier: MIT
// Uniform noise; its variance is a third of the squared half-width.
#include <cmath>
#include <numbers>

#include "probust/noise/independent.h"

namespace probust {

namespace {

class Uniform final : public NearlyGaussian {
 public:
  using NearlyGaussian::NearlyGaussian;

 private:
  double of_normal(double w) const override { return std::erf(w / std::numbers::sqrt2); }
};

}  // namespace

std::shared_ptr<const NoiseShape> uniform_noise() {
  static const auto shape = std::make_shared<const Uniform>("uniform", ElementNoise::Draw::uniform, std::numbers::inv_sqrt3);
  return shape;
}

}  // namespace probust
