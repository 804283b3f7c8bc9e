// SPDX-License-Identifier: MIT
//
// Random changes to training points.
#pragma once

#include <cstdint>
#include <span>

#include "probust/base/tensor.h"

namespace probust {

struct Augmentation {
  double sigma = 0;       ///< standard deviation of Gaussian noise, in the units of x
  bool flip = false;      ///< whether to mirror images left to right, with probability 1/2
  std::int64_t crop = 0;  ///< maximum number of pixels by which images are shifted in each direction; zeros fill the gap
  bool images() const { return flip || crop > 0; }
};

/// Changes one point x, of shape `point`, in place. The change is a function of the seed, the point's number and the epoch. Flips
/// and crops need images [C, H, W].
void augment(const Augmentation& how, std::uint64_t seed, std::uint32_t index, std::uint32_t epoch, const Shape& point,
             std::span<float> x);

}  // namespace probust
