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

/// The first `count` noisy samples [count, ...] that `mc` draws with this seed for a point x [1, ...] at position `index` of
/// the data.
Tensor noisy_samples(const Noise& noise, const Tensor& x, std::int64_t index, std::int64_t count, std::uint64_t seed);

/// The picture of a point that is an image. It is gray or in colour; other channels are averaged to gray.
report::Picture picture_of(const Image& image, std::span<const float> point, const report::Brightness& brightness);

}  // namespace probust::cli
