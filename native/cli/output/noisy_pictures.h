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
  std::vector<double> improbable;  ///< [count] -2 ln of the density of the random parameters, up to a constant: the smaller, the
                                   ///< more probable. All equal if the noise has no parameters
  std::vector<double> changes;     ///< [count] the squared distance from the point
};

/// The samples 0 .. count - 1 of a point x [1, ...] at position `index` of the data. With the same seed, `mc` draws the same
/// samples.
NoisySamples noisy_samples(const Noise& noise, const Tensor& x, std::int64_t index, std::int64_t count, std::uint64_t seed);

/// The index of the `wanted` sample with the most probable parameters. If several are equally probable, the one nearest to the
/// point. Empty if `wanted` has no sample.
std::optional<std::int64_t> most_probable(const NoisySamples& samples, const std::vector<bool>& wanted);

/// The picture of a point that is an image. Three channels are colours, and a fourth is opacity, which is ignored. Otherwise,
/// the channels are averaged to gray.
report::Picture picture_of(const Image& image, std::span<const float> point, const report::Brightness& brightness);

}  // namespace probust::cli
