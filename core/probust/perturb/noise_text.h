// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>

#include "probust/noise/noise.h"

namespace probust {

/// Parses a noise model: additive noise (parse_additive_noise), one perturbation of images as in "rotate:10",
/// "rotate:fill=0:10", "rotate:uniform(-30,30)" or "rotate:fixed(10)", or a sequence of both, applied from left to right, as
/// in "rotate:5+gaussian:0.05". Throws Error{usage} with a hint.
Noise parse_noise(const std::string& text, const NoiseSource& source = {});

/// Parses the text of a noise in rows, which may end with the range to which its samples are clipped, as in
/// "rotate:10|clip:0,1". Throws Error{usage}.
Noise parse_noise_of_row(const std::string& text, const NoiseSource& source = {});

/// The smallest and the largest value of all data, without NaN.
struct DataRange {
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  void include(std::span<const float> values);
};
DataRange range_of(std::span<const float> values);

/// Clips the samples of each noise that contains a perturbation to [0, 1], unless they are clipped already or the data leave that
/// range. Other noise does not change. `range` is called at most once, and only if a perturbation needs it.
void clip_like_data(std::span<Noise> noises, const std::function<DataRange()>& range);

/// The noise bound to points x [N, ...] for a model with points of shape `point`. Images have the shape of x or, if x is flat,
/// `point`.
Noise bound_to(Noise noise, const Tensor& x, const Shape& point);

/// Explains in hints how noise is written: "gaussian:0.1, ..., rotate:10, ...".
std::string known_noise();

}  // namespace probust
