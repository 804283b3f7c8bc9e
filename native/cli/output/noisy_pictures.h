// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "datasets/point_source.h"
#include "probust/noise/noise.h"
#include "probust/perturb/image.h"
#include "probust/perturb/noise_text.h"
#include "report/picture.h"

namespace probust::cli {

/// Noisy samples of a point.
struct NoisySamples {
  Tensor x;                        ///< [count, ...]
  std::vector<double> improbable;  ///< [count] the smaller, the more probable are the random parameters: -2 ln of their density,
                                   ///< up to a constant. Equal for noise without parameters
  std::vector<double> changes;     ///< [count] the squared distance from the point
};

/// The samples 0 .. count - 1 of a point x [1, ...] at position `index` of the data: those of `mc` with this seed.
NoisySamples noisy_samples(const Noise& noise, const Tensor& x, std::int64_t index, std::int64_t count, std::uint64_t seed);

/// The position of the sample among those that are `wanted` with the most probable parameters; of equally probable ones, the
/// one nearest to the point. Empty if none is wanted.
std::optional<std::int64_t> most_probable(const NoisySamples& samples, const std::vector<bool>& wanted);

/// The picture of a point that is an image. It is gray or in colour; other channels are averaged to gray.
report::Picture picture_of(const Image& image, std::span<const float> point, const report::Brightness& brightness);

}  // namespace probust::cli
