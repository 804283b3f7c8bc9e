// SPDX-License-Identifier: MIT
#include "probust/noise/sampled.h"

#include <algorithm>

namespace probust {

std::int64_t SampledNoise::whiten(std::span<const std::uint32_t> points, std::int64_t elements, float* gradients) const {
  std::fill_n(gradients, elements * static_cast<std::int64_t>(points.size()), 0.0F);
  return 0;
}

void SampledNoise::variances(std::span<const std::uint32_t> points, std::int64_t elements, float* variance) const {
  std::fill_n(variance, elements * static_cast<std::int64_t>(points.size()), 0.0F);
}

GaussianView SampledNoise::gaussian() const { return {GaussianView::Kind::absent, what_ + " can only be sampled; use mc:N"}; }

}  // namespace probust
