// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

#include "support/evaluate.h"

// Grey images of 8 x 8 pixels, for test::small_cnn.
namespace probust::test {

// Images of independent pixels.
inline Tensor some_images(std::int64_t count, unsigned seed = 5) {
  std::mt19937 random(seed);
  return random_tensor({count, 1, 8, 8}, random, 0.0F, 1.0F);
}

// Images that consist of a few waves. In noise, a rotation would change each pixel many times.
inline Tensor smooth_images(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  Tensor x({count, 1, 8, 8});
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor w = random_tensor({8}, random, -0.8F, 0.8F);
    for (std::int64_t q = 0; q < 64; ++q) {
      const auto row = static_cast<float>(q / 8), column = static_cast<float>(q % 8);
      x.data[i * 64 + q] = 0.5F + 0.25F * std::sin(w.data[0] * row + w.data[1] * column + 3 * w.data[2]) +
                           0.25F * std::sin(w.data[3] * row + w.data[4] * column + 3 * w.data[5]);
    }
  }
  return x;
}

}  // namespace probust::test
