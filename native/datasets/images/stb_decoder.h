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

/// Reads only the header. `file` must not have more than 2^31 - 1 bytes, here and below.
StbImage stb_header(Bytes file);

/// Decodes the image to `channels` values per pixel, of 8 bits each or, if it is `deep`, of 16. No single allocation is larger
/// than `most_bytes`.
StbImage stb_image(Bytes file, int channels, bool deep, std::size_t most_bytes);

}  // namespace probust::datasets
