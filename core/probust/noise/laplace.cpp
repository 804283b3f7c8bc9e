// SPDX-License-Identifier: MIT
// Laplace noise; its variance is twice the squared scale.
#include <cmath>
#include <numbers>

#include "probust/noise/independent.h"

namespace probust {

namespace {

class Laplace final : public NearlyGaussian {
 public:
  using NearlyGaussian::NearlyGaussian;

 private:
  /// P[|T| > t] = e^-t, and P[|W| > |w|] = erfc(|w| / sqrt 2).
  double of_normal(double w) const override { return std::copysign(-std::log(std::erfc(std::fabs(w) / std::numbers::sqrt2)), w); }
};

}  // namespace

std::shared_ptr<const NoiseShape> laplace_noise() {
  static const auto shape = std::make_shared<const Laplace>("laplace", ElementNoise::Draw::laplace, std::numbers::sqrt2);
  return shape;
}

}  // namespace probust
