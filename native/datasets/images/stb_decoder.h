// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "datasets/bytes.h"

namespace probust::datasets {

/// What stb_image returns for a PNG or JPEG file: the image, or an error.
struct StbImage {
  struct Free {
    void operator()(void* pixels) const;
  };
  int height = 0, width = 0, channels = 0;
  std::unique_ptr<std::uint8_t, Free> pixels;        ///< null unless the image has 8 bits
  std::unique_ptr<std::uint16_t, Free> deep_pixels;  ///< null unless the image has 16 bits
  std::string problem;                               ///< stb_image's message if it failed
};

/// Reads only the header. Here and below, `file` must not have more than 2^31 - 1 bytes.
StbImage stb_header(Bytes file);

/// Decodes the image to `channels` values of 8 bits per pixel, or of 16 if it is `deep`. No single allocation is larger than
/// `most_bytes`.
StbImage stb_image(Bytes file, int channels, bool deep, std::size_t most_bytes);

}  // namespace probust::datasets
