// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "probust/perturb/family.h"

namespace probust::perturb {

/// Compresses an image, planes [channels, rows, columns], as a baseline JPEG and decodes it again, in place: three channels as
/// one colour image with 4:2:0 subsampling, otherwise each channel as a grey image. Values are clamped to [0, 1] and become
/// multiples of 1/255. The quality, 1 to 100, is rounded to a whole number, as encoders require.
void compress_as_jpeg(const Image& image, double quality, std::span<float> x);

/// The family "jpeg", for the list in transmission.cpp.
Family jpeg_family();

}  // namespace probust::perturb
