// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "probust/perturb/family.h"

namespace probust::perturb {

/// What a baseline JPEG encoder and decoder make of an image, planes [channels, rows, columns] in place: three channels as one
/// colour image with 4:2:0 subsampling, others each as a grey one. Values are clamped to [0, 1] and become multiples of 1/255.
/// The quality, 1 to 100, is rounded to a whole number, which is what encoders take.
void compress_as_jpeg(const Image& image, double quality, std::span<float> x);

/// jpeg, for transmission.cpp.
Family jpeg_family();

}  // namespace probust::perturb
