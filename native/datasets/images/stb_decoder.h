// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "datasets/bytes.h"

namespace probust::datasets {

/// The result of stb_image for a PNG or JPEG file, or its error.
struct StbImage {
  struct Free {
    void operator()(void* pixels) const;
  };
  int height = 0, width = 0, channels = 0;
  std::unique_ptr<std::uint8_t, Free> pixels;        ///< null unless the image has 8 bits
  std::unique_ptr<std::uint16_t, Free> deep_pixels;  ///< null unless the image has 16 bits
  std::string problem;                               ///< stb_image's message, if there is no image or no header
};

/// Reads only the header. `file` has at most 2^31 - 1 bytes, here and below.
StbImage stb_header(Bytes file);

/// Decodes the image to `channels` values of 8 bits per pixel, or of 16 if it is `deep`. No single allocation is larger than
/// `most_bytes`.
StbImage stb_image(Bytes file, int channels, bool deep, std::size_t most_bytes);

}  // namespace probust::datasets
