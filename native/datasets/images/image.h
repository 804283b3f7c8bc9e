// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/bytes.h"

namespace probust::datasets {

/// Images with more pixels are rejected before memory is allocated for them.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 27;

struct ImageSize {
  std::int64_t height = 0, width = 0;
  std::int64_t channels = 0;  ///< 1: gray, 2: gray and transparency, 3: colour, 4: colour and transparency
  bool deep = false;          ///< whether values have 16 bits instead of at most 8
};

/// Pixels row by row from the top, with the channels of a pixel next to each other.
struct Image {
  std::int64_t height = 0, width = 0;
  std::int64_t channels = 0;          ///< 1 or 3
  std::int64_t largest = 255;         ///< the value of white: 255, or 65535 if values have 16 bits
  std::vector<std::uint16_t> pixels;  ///< in 0..largest
};

/// The size as text, such as "640 x 480", with the width first.
std::string size_text(std::int64_t height, std::int64_t width);

/// The size and channels in the header of a PNG or JPEG file. Throws Error{unreadable} about `path` if it is not such a file,
/// is damaged, or has more pixels than kMostPixels or than its bytes can hold.
ImageSize image_size(Bytes file, const std::string& path);

/// Decodes a PNG or JPEG file to 1 or 3 channels. Colour is converted to gray with ITU-R 601 weights, transparency is dropped,
/// and 16-bit values are kept. An orientation in EXIF data is ignored. Throws the same errors as image_size, and
/// Error{unreadable} if the file is truncated or damaged.
Image decode_image(Bytes file, std::int64_t channels, const std::string& path);

/// The orientation in the EXIF data at the start of a file: 1 is upright, and 2 to 8 are rotated or mirrored. Returns 1 if
/// there is none.
int exif_orientation(Bytes begin);

/// The image resized so that the shorter side has `side` pixels and the longer one is in proportion, rounded down. The filter
/// is a triangle that extends to each side by the width of one output pixel, but at least by one input pixel (bilinear
/// interpolation with antialiasing). Sums are rounded as in Pillow, so that the pixels agree with Pillow's. Throws
/// Error{unreadable} if there would be more than kMostPixels.
Image resized(const Image& image, std::int64_t side, const std::string& path);

/// The square of `side` x `side` pixels at the centre. A position halfway between pixels is rounded to even, as in torchvision.
/// Throws Error{unreadable} if the image is smaller.
Image centre_crop(const Image& image, std::int64_t side, const std::string& path);

/// The height and width after resized(), unless `resize` is 0, and centre_crop(), unless `crop` is 0.
ImageSize transformed_size(ImageSize size, std::int64_t resize, std::int64_t crop);

}  // namespace probust::datasets
