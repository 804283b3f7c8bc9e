// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/device.h"
#include "probust/graph/attributes.h"

// With bf16, convolutions read and write copies of their operands in 16 bits, some images at a time.
namespace probust::cuda {

inline constexpr std::int64_t kNarrowElements = std::int64_t{1} << 27;  // of the images read or written at once: 256 MiB
inline constexpr std::int64_t kNarrowBytes = 2;                         // of one

/// Elements of an image that a convolution reads, of one that it writes, and of its filter.
struct ConvolutionSizes {
  std::int64_t read, written, filter;
};

inline ConvolutionSizes sizes_of(const Convolution& c) {
  const std::int64_t image = element_count(c.window.image) * c.in_channels,
                     output = element_count(c.window.output()) * c.out_channels;
  const std::int64_t filter = c.out_channels * element_count(c.window.kernel) * c.in_channels / c.window.groups;
  return c.transposed ? ConvolutionSizes{output, image, filter} : ConvolutionSizes{image, output, filter};
}

/// The larger of each kind.
inline ConvolutionSizes larger(const ConvolutionSizes& a, const ConvolutionSizes& b) {
  return {std::max(a.read, b.read), std::max(a.written, b.written), std::max(a.filter, b.filter)};
}

/// How many of `images` are convolved at once, if at most `most` elements may be read or written.
inline std::int64_t images_together(const ConvolutionSizes& sizes, std::int64_t images, std::int64_t most) {
  return std::min(images, std::max<std::int64_t>(1, most / std::max(sizes.read, sizes.written)));
}

inline std::int64_t narrow_bytes(const ConvolutionSizes& sizes) {
  return (sizes.read + sizes.written + sizes.filter) * kNarrowBytes;
}

/// Elements of the narrow copies.
inline ConvolutionSizes narrow_sizes(const Convolution& c, std::int64_t images) {
  const ConvolutionSizes one = sizes_of(c);
  const std::int64_t together = images_together(one, images, kNarrowElements);
  return {together * one.read, together * one.written, one.filter};
}

}  // namespace probust::cuda
