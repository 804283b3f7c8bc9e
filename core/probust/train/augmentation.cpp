// SPDX-License-Identifier: MIT
#include "probust/train/augmentation.h"

#include <algorithm>
#include <vector>

#include "probust/noise/noise.h"

namespace probust {
namespace {

constexpr std::uint32_t kNoise = 0x2015, kImages = 0x2016;  ///< streams of the generator

// Pixel (i, j) of the result is pixel (i + down, j + right), or its mirror image.
void move_image(std::int64_t down, std::int64_t right, bool mirrored, const Shape& point, std::span<float> x) {
  const std::int64_t height = point[1], width = point[2];
  const std::vector<float> from(x.begin(), x.end());
  for (std::int64_t row = 0; row < point[0] * height; ++row) {
    const std::int64_t i = row % height + down;
    for (std::int64_t column = 0; column < width; ++column) {
      const std::int64_t j = (mirrored ? width - 1 - column : column) + right;
      const bool inside = i >= 0 && i < height && j >= 0 && j < width;
      x[row * width + column] = inside ? from[(row + down) * width + j] : 0.0F;
    }
  }
}

}  // namespace

void augment(const Augmentation& how, std::uint64_t seed, std::uint32_t index, std::uint32_t epoch, const Shape& point,
             std::span<float> x) {
  if (how.images()) {
    NoiseStream random(seed, index, epoch, kImages);
    const auto shift = [&] {
      return static_cast<std::int64_t>(random.uniform() * static_cast<double>(2 * how.crop + 1)) - how.crop;
    };
    const bool mirrored = random.uniform() < 0.5 && how.flip;
    const std::int64_t down = shift(), right = shift();
    move_image(down, right, mirrored, point, x);
  }
  if (how.sigma > 0) {
    isotropic_gaussian()->add({seed, {&index, 1}, {&epoch, 1}, kNoise}, static_cast<std::int64_t>(x.size()),
                              static_cast<float>(how.sigma), x.data());
  }
}

}  // namespace probust
