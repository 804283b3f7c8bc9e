// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/grid_images.h"

#include "probust/exec/cpu/four.h"

namespace probust::cpu {
namespace {

// Copies a row of an image, or zeros, to to[0], to[step], ..., including the pixels beyond the border.
template <int step>
void surround_row(const ReachedPixels& columns, const float* from, float* to) {
  if (from == nullptr) {
    for (std::int64_t c = 0; c < columns.count; ++c) to[c * step] = 0;
    return;
  }
  float* const image = to - columns.first * step;
  for (std::int64_t c = 0; c < columns.axis.extent; ++c) image[c * step] = from[c];
  for (const std::int64_t c : columns.beyond) to[c * step] = columns.pixel[c] < 0 ? 0.0F : from[columns.pixel[c]];
}

// The transpose: adds the pixels beyond the border of a plane to those that they repeat.
void fold_border(const Sampling& s, float* plane) {
  const ReachedPixels &rows = s.rows, &columns = s.columns;
  const std::int64_t width = columns.count;
  for (const std::int64_t r : rows.beyond) {
    if (rows.pixel[r] < 0) continue;
    float* const line = plane + (rows.pixel[r] - rows.first) * width;
    for (std::int64_t c = 0; c < width; ++c) line[c] += plane[r * width + c];
  }
  for (std::int64_t row = 0; row < rows.axis.extent; ++row) {
    float* const line = plane + (row - rows.first) * width;
    for (const std::int64_t c : columns.beyond) {
      if (columns.pixel[c] >= 0) line[columns.pixel[c] - columns.first] += line[c];
    }
  }
}

}  // namespace

template <int channels>
void surround(const Sampling& s, const float* from, std::int64_t own, std::int64_t first, std::int64_t lanes, std::int64_t planes,
              float* to) {
  constexpr int columns = 4 / channels;  // columns that four floats contain
  const std::int64_t width = s.columns.count, groups = (planes + channels - 1) / channels;
  const std::int64_t image = groups * channels * s.reached(), whole = width / columns * columns, whole_lanes = lanes / 4 * 4;
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t r = 0; r < s.rows.count; ++r) {
      float* const line = to + (g * s.rows.count + r) * width * channels;
      const std::int64_t row = s.rows.pixel[r];
      const auto pixel = [&](std::int64_t c, std::int64_t channel) {
        const std::int64_t plane = g * channels + channel, column = s.columns.pixel[c];
        const std::int64_t at = plane * s.pixels + row * s.columns.axis.extent + column;
        return row < 0 || column < 0 || plane >= planes ? nullptr : from + at * own + first;
      };
      for (std::int64_t c = 0; c < whole; c += columns) {
        const float* pixels[4];
        for (int k = 0; k < 4; ++k) pixels[k] = pixel(c + k / channels, k % channels);
        for (std::int64_t l = 0; l < whole_lanes; l += 4) {
          Four square[4];
          for (int k = 0; k < 4; ++k) square[k] = pixels[k] == nullptr ? Four{} : load_four(pixels[k] + l);
          transpose(square);
          for (int k = 0; k < 4; ++k) store_four(square[k], line + (l + k) * image + c * channels);
        }
        for (std::int64_t l = whole_lanes; l < lanes; ++l) {
          for (int k = 0; k < 4; ++k) line[l * image + c * channels + k] = pixels[k] == nullptr ? 0.0F : pixels[k][l];
        }
      }
      for (std::int64_t c = whole; c < width; ++c) {
        const float* const x = pixel(c, 0);
        for (std::int64_t l = 0; l < lanes; ++l) line[l * image + c] = x == nullptr ? 0.0F : x[l];
      }
    }
  }
}

template void surround<1>(const Sampling&, const float*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, float*);
template void surround<4>(const Sampling&, const float*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, float*);

template <int rows, int channels>
void surround_one(const Sampling& s, const float* from, std::int64_t planes, float* to) {
  constexpr int step = rows * channels;
  for (std::int64_t p = 0; p < (planes + channels - 1) / channels * channels; ++p) {
    for (std::int64_t r = 0; r < s.rows.count; ++r) {
      float* const line = to + (p / channels * s.rows.count + r) * s.columns.count * step + p % channels;
      for (std::int64_t below = 0; below < rows; ++below) {
        const std::int64_t row = s.rows.pixel[std::min(r + below, s.rows.count - 1)];
        const bool zero = row < 0 || p >= planes;
        surround_row<step>(s.columns, zero ? nullptr : from + p * s.pixels + row * s.columns.axis.extent, line + below);
      }
    }
  }
}

template void surround_one<1, 1>(const Sampling&, const float*, std::int64_t, float*);
template void surround_one<2, 1>(const Sampling&, const float*, std::int64_t, float*);
template void surround_one<1, 4>(const Sampling&, const float*, std::int64_t, float*);

void fold(const Sampling& s, float* from, std::int64_t own, std::int64_t first, std::int64_t lanes, std::int64_t planes,
          float* to) {
  const std::int64_t reached = s.reached(), image = planes * reached, columns = s.columns.axis.extent;
  for (std::int64_t p = 0; p < planes; ++p) {
    for (std::int64_t l = 0; l < lanes; ++l) fold_border(s, from + l * image + p * reached);
    for (std::int64_t row = 0; row < s.rows.axis.extent; ++row) {
      const float* const line = from + p * reached + (row - s.rows.first) * s.columns.count - s.columns.first;
      transpose_to(line, image, lanes, columns, to + (p * s.pixels + row * columns) * own + first, own);
    }
  }
}

}  // namespace probust::cpu
