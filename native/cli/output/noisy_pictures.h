// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "datasets/point_source.h"
#include "probust/noise/noise.h"
#include "probust/perturb/image.h"
#include "probust/perturb/noise_text.h"
#include "report/picture.h"

namespace probust::cli {

/// Noisy samples 0 .. count - 1 of a point x [1, ...] at position `index` of the data, [count, ...]: those of `mc` with this
/// seed.
Tensor noisy_samples(const Noise& noise, const Tensor& x, std::int64_t index, std::int64_t count, std::uint64_t seed);

/// A point that is an image as a picture: gray or colour, or the mean of other channels.
report::Picture picture_of(const Image& image, std::span<const float> point, const report::Brightness& brightness);

}  // namespace probust::cli
