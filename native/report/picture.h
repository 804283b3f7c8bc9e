// SPDX-License-Identifier: MIT
//
// Converts points that are images to pictures and PNG files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probust/base/tensor.h"

namespace probust::report {

/// An image of 8 bits per channel.
struct Picture {
  std::int64_t height = 0, width = 0;
  int channels = 1;                 ///< 1: gray, 3: red, green, blue
  std::vector<std::uint8_t> bytes;  ///< [height, width, channels]
};

/// How the values of points become brightness: `black` becomes 0 and `white` 255.
struct Brightness {
  double black = 0, white = 1;
};

/// The range 0 to 1 if it contains all finite values, as for pixels; otherwise the range of the finite values.
Brightness brightness_of(const Tensor& x);

/// Whether points of this shape are images: [1, H, W] or [3, H, W].
bool is_image(const Shape& point);

/// The picture of a point x [1, C, H, W], shrunk by averaging if a side has more than `most` pixels. Values that are not finite
/// are black.
Picture picture_of(const Tensor& x, const Brightness& brightness, std::int64_t most = 128);

/// The bytes of a PNG file. Throws Error{resources}.
std::vector<std::uint8_t> png(const Picture& picture);

/// The PNG file as a URI, "data:image/png;base64,...". Throws Error{resources}.
std::string png_uri(const Picture& picture);

}  // namespace probust::report
