// SPDX-License-Identifier: MIT
// Resizes like Pillow (src/libImaging/Resample.c, with the BILINEAR filter): a pass along rows, then a pass along columns, both
// with weights of 22 fractional bits and results rounded to integers. Most networks are trained on images resized in this way.
#include <algorithm>
#include <cmath>

#include "datasets/images/image.h"

namespace probust::datasets {
namespace {

constexpr int kFractionBits = 22;

// Output pixel i is the sum over k < count[i] of weights[i * most + k] times input pixel first[i] + k.
struct ResizeFilter {
  std::int64_t most = 0;
  std::vector<std::int64_t> first, count;
  std::vector<std::int32_t> weights;
};

ResizeFilter triangle_filter(std::int64_t in, std::int64_t out) {
  const double scale = static_cast<double>(in) / static_cast<double>(out), support = std::max(scale, 1.0);
  ResizeFilter filter;
  filter.most = static_cast<std::int64_t>(std::ceil(support)) * 2 + 1;
  filter.weights.resize(static_cast<std::size_t>(out * filter.most));
  std::vector<double> exact(static_cast<std::size_t>(filter.most));
  for (std::int64_t i = 0; i < out; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const std::int64_t first = std::max<std::int64_t>(0, std::llround(centre - support));
    const std::int64_t count = std::min<std::int64_t>(in, std::llround(centre + support)) - first;
    double sum = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      exact[k] = std::max(0.0, 1 - std::fabs((static_cast<double>(first + k) - centre + 0.5) / support));
      sum += exact[k];
    }
    for (std::int64_t k = 0; k < count; ++k)
      filter.weights[i * filter.most + k] = static_cast<std::int32_t>(std::lround(exact[k] / sum * (1 << kFractionBits)));
    filter.first.push_back(first);
    filter.count.push_back(count);
  }
  return filter;
}

// Computes every output value of a row of `filter.first.size()` pixels. Pixels are `step` values apart, and each pixel consists
// of `width` adjacent values.
template <class Sum>
void filter_line(const ResizeFilter& filter, const std::uint16_t* in, std::int64_t step, std::int64_t width, Sum largest,
                 std::uint16_t* out) {
  for (std::size_t i = 0; i < filter.first.size(); ++i) {
    const std::int32_t* weights = &filter.weights[i * static_cast<std::size_t>(filter.most)];
    const std::uint16_t* from = in + filter.first[i] * step;
    for (std::int64_t c = 0; c < width; ++c) {
      Sum sum = 1 << (kFractionBits - 1);
      for (std::int64_t k = 0; k < filter.count[i]; ++k) sum += Sum{weights[k]} * from[k * step + c];
      *out++ = static_cast<std::uint16_t>(std::clamp<Sum>(sum >> kFractionBits, 0, largest));
    }
  }
}

// Uses 32-bit sums for 8-bit images, for which they are sufficient, and 64-bit sums for others.
void filter_line_of(const Image& image, const ResizeFilter& filter, const std::uint16_t* in, std::int64_t step,
                    std::int64_t width, std::uint16_t* out) {
  if (image.largest <= 255) {
    filter_line<std::int32_t>(filter, in, step, width, 255, out);
  } else {
    filter_line<std::int64_t>(filter, in, step, width, image.largest, out);
  }
}

Image with_width(const Image& image, std::int64_t width) {
  if (width == image.width) return image;
  const ResizeFilter filter = triangle_filter(image.width, width);
  Image result{image.height, width, image.channels, image.largest, {}};
  result.pixels.resize(static_cast<std::size_t>(image.height * width * image.channels));
  for (std::int64_t row = 0; row < image.height; ++row) {
    filter_line_of(image, filter, &image.pixels[row * image.width * image.channels], image.channels, image.channels,
                   &result.pixels[row * width * image.channels]);
  }
  return result;
}

// Resizes all columns at once, by treating a whole row as one pixel with many values.
Image with_height(const Image& image, std::int64_t height) {
  if (height == image.height) return image;
  const std::int64_t row = image.width * image.channels;
  Image result{height, image.width, image.channels, image.largest, {}};
  result.pixels.resize(static_cast<std::size_t>(height * row));
  filter_line_of(image, triangle_filter(image.height, height), image.pixels.data(), row, row, result.pixels.data());
  return result;
}

}  // namespace

ImageSize transformed_size(ImageSize size, std::int64_t resize, std::int64_t crop) {
  if (resize > 0) {
    const std::int64_t shorter = std::min(size.height, size.width);
    size.height = resize * size.height / shorter;
    size.width = resize * size.width / shorter;
  }
  if (crop > 0) size.height = size.width = crop;
  return size;
}

Image resized(const Image& image, std::int64_t side, const std::string& path) {
  const ImageSize size = transformed_size({image.height, image.width, image.channels}, side, 0);
  if (size.width > kMostPixels / size.height) {
    refuse(path,
           "has " + size_text(image.height, image.width) +
               " pixels, and would be too large after resizing: " + size_text(size.height, size.width),
           "use less elongated images");
  }
  return with_height(with_width(image, size.width), size.height);
}

Image centre_crop(const Image& image, std::int64_t side, const std::string& path) {
  if (image.height < side || image.width < side) {
    refuse(path,
           "has " + size_text(image.height, image.width) + " pixels, which is less than " + option("crop") + " " +
               std::to_string(side),
           "also use " + option("resize"));
  }
  const auto margin = [side](std::int64_t length) { return std::lrint(static_cast<double>(length - side) / 2); };
  const std::int64_t row = image.width * image.channels, left = margin(image.width) * image.channels;
  Image result{side, side, image.channels, image.largest, {}};
  for (std::int64_t y = margin(image.height), end = y + side; y < end; ++y) {
    const auto from = image.pixels.begin() + y * row + left;
    result.pixels.insert(result.pixels.end(), from, from + side * image.channels);
  }
  return result;
}

}  // namespace probust::datasets
