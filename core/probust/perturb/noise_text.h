// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "probust/noise/noise.h"

namespace probust {

/// Parses a noise model: additive noise (parse_additive_noise), one perturbation of images as in "rotate:10", "rotate:fill=0:10",
/// "rotate:uniform(-30,30)" or "rotate:fixed(10)", or a sequence of both, applied from left to right, as in
/// "rotate:5+gaussian:0.05". Throws Error{usage} with a hint.
Noise parse_noise(const std::string& text, const NoiseSource& source = {});

/// The noise, with samples clipped to [0, 1] if it contains a perturbation, is not clipped yet, and the smallest and the largest
/// value of the data lie in that range. Other noise is returned as it is.
Noise clipped_like_data(Noise noise, double lowest, double highest);

/// How noise is written, for hints: "gaussian:0.1, ..., rotate:10, ...".
std::string known_noise();

}  // namespace probust
