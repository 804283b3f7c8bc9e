// SPDX-License-Identifier: MIT
#include "report/picture.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "probust/base/error.h"

namespace probust::report {
namespace {

struct Extents {
  std::int64_t channels, height, width;
};

// The mean of channel c over the pixels of x that become pixel (i, j) of the smaller picture.
double average(const Tensor& x, const Extents& from, const Picture& to, std::int64_t c, std::int64_t i, std::int64_t j) {
  const std::int64_t top = i * from.height / to.height, bottom = std::max(top + 1, (i + 1) * from.height / to.height);
  const std::int64_t left = j * from.width / to.width, right = std::max(left + 1, (j + 1) * from.width / to.width);
  double sum = 0;
  for (std::int64_t row = top; row < bottom; ++row) {
    for (std::int64_t column = left; column < right; ++column) sum += x.data[(c * from.height + row) * from.width + column];
  }
  return sum / static_cast<double>((bottom - top) * (right - left));
}

std::uint8_t byte_of(double value, const Brightness& brightness) {
  const double share = (value - brightness.black) / (brightness.white - brightness.black);
  return std::isfinite(share) ? static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0))) : 0;
}

std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? bytes[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace

Brightness brightness_of(const Tensor& x) {
  Brightness range{0, 1};
  bool pixels = true, first = true;
  for (const float value : x.data) {
    if (!std::isfinite(value)) continue;
    pixels = pixels && value >= 0 && value <= 1;
    range.black = first ? value : std::min<double>(range.black, value);
    range.white = first ? value : std::max<double>(range.white, value);
    first = false;
  }
  return pixels || range.black == range.white ? Brightness{} : range;
}

bool is_image(const Shape& point) {
  return point.size() == 3 && (point[0] == 1 || point[0] == 3) && point[1] > 1 && point[2] > 1;
}

Picture picture_of(const Tensor& x, const Brightness& brightness, std::int64_t most) {
  const Extents from{x.shape[1], x.shape[2], x.shape[3]};
  const double shrink = std::min(1.0, static_cast<double>(most) / static_cast<double>(std::max(from.height, from.width)));
  const auto extent = [&](std::int64_t pixels) {
    return std::max<std::int64_t>(1, std::llround(shrink * static_cast<double>(pixels)));
  };
  Picture picture{extent(from.height), extent(from.width), static_cast<int>(from.channels), {}};
  picture.bytes.reserve(picture.height * picture.width * picture.channels);
  for (std::int64_t i = 0; i < picture.height; ++i) {
    for (std::int64_t j = 0; j < picture.width; ++j) {
      for (std::int64_t c = 0; c < from.channels; ++c)
        picture.bytes.push_back(byte_of(average(x, from, picture, c, i, j), brightness));
    }
  }
  return picture;
}

std::vector<std::uint8_t> png(const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = picture.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  std::vector<std::uint8_t> file(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t size = file.size();
  if (png_image_write_to_memory(&image, file.data(), &size, 0, picture.bytes.data(), 0, nullptr) == 0)
    throw Error{ErrorCode::resources, "an image", std::string("could not be written as PNG: ") + image.message, ""};
  file.resize(size);
  return file;
}

std::string png_uri(const Picture& picture) { return "data:image/png;base64," + base64(png(picture)); }

}  // namespace probust::report
