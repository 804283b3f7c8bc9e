// SPDX-License-Identifier: MIT
// The only file that includes stb_image's code, so that only this file is compiled without warnings. Only PNG and JPEG are
// enabled. Memory is limited, because PNG data can expand to a thousand times their size, whatever size the header declares.
#include "datasets/images/stb_decoder.h"

#include <cstdlib>

namespace {

thread_local std::size_t most_bytes_at_once = SIZE_MAX;

void* limited_malloc(std::size_t bytes) { return bytes > most_bytes_at_once ? nullptr : std::malloc(bytes); }

void* limited_realloc(void* old, std::size_t bytes) { return bytes > most_bytes_at_once ? nullptr : std::realloc(old, bytes); }

}  // namespace

#define STBI_MALLOC(bytes) limited_malloc(bytes)
#define STBI_REALLOC(old, bytes) limited_realloc(old, bytes)
#define STBI_FREE(old) std::free(old)
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>

namespace probust::datasets {

void StbImage::Free::operator()(void* pixels) const { std::free(pixels); }

StbImage stb_header(Bytes file) {
  StbImage image;
  const bool read =
      stbi_info_from_memory(file.data(), static_cast<int>(file.size()), &image.width, &image.height, &image.channels) != 0;
  if (!read) image.problem = stbi_failure_reason();
  return image;
}

StbImage stb_image(Bytes file, int channels, bool deep, std::size_t most_bytes) {
  StbImage image;
  most_bytes_at_once = most_bytes;
  int stored = 0;
  const int size = static_cast<int>(file.size());
  if (deep) {
    image.deep_pixels.reset(stbi_load_16_from_memory(file.data(), size, &image.width, &image.height, &stored, channels));
  } else {
    image.pixels.reset(stbi_load_from_memory(file.data(), size, &image.width, &image.height, &stored, channels));
  }
  most_bytes_at_once = SIZE_MAX;
  image.channels = channels;
  if (!image.pixels && !image.deep_pixels) image.problem = stbi_failure_reason();
  return image;
}

}  // namespace probust::datasets
