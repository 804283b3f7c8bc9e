// SPDX-License-Identifier: MIT
// Isotropic Gaussian noise.
#include "probust/noise/independent.h"

namespace probust {
namespace {

class Isotropic final : public IndependentNoise {
 public:
  using IndependentNoise::IndependentNoise;
  std::optional<std::int64_t> normals(std::int64_t elements) const override { return elements; }
  void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float scale, const float* w,
                   float* x) const override {
    const std::int64_t count = elements * static_cast<std::int64_t>(points.size());
    for (std::int64_t i = 0; i < count; ++i) x[i] += scale * w[i];
  }
};

}  // namespace

std::shared_ptr<const NoiseShape> isotropic_gaussian() {
  static const auto shape = std::make_shared<const Isotropic>("gaussian", ElementNoise::Draw::normal, 1.0);
  return shape;
}

}  // namespace probust
