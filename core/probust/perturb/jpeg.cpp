// SPDX-License-Identifier: MIT
// JPEG without its entropy coding, which is lossless: ITU-T T.81 (DCT, quantisation tables of annex K) and JFIF (colours).
// Choices that these standards leave open follow the Independent JPEG Group's library at its default settings: tables scaled by
// quality, 4:2:0 by averages of 2 x 2, chroma interpolated linearly between its samples, borders repeated, the accurate integer
// DCT.
#include "probust/perturb/jpeg.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace probust::perturb {
namespace {

using Block = std::array<std::int32_t, 64>;  // 8 x 8, row-major
using Samples = std::vector<std::int32_t>;

// Tables K.1 (luminance) and K.2 (chrominance) of the standard.
constexpr std::array<int, 64> kLuminance = {16, 11, 10, 16, 24,  40,  51,  61,  12, 12, 14, 19, 26,  58,  60,  55,  //
                                            14, 13, 16, 24, 40,  57,  69,  56,  14, 17, 22, 29, 51,  87,  80,  62,  //
                                            18, 22, 37, 56, 68,  109, 103, 77,  24, 35, 55, 64, 81,  104, 113, 92,  //
                                            49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99};
constexpr std::array<int, 64> kChrominance = {17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,  //
                                              24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,  //
                                              99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,  //
                                              99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99};

Block scaled_table(const std::array<int, 64>& base, double quality) {
  const int q = std::clamp(static_cast<int>(quality + 0.5), 1, 100);
  const int percent = q < 50 ? 5000 / q : 200 - 2 * q;
  Block table;
  for (std::size_t i = 0; i < 64; ++i) table[i] = std::clamp((base[i] * percent + 50) / 100, 1, 255);
  return table;
}

// 2^13 sqrt(8) times the orthonormal DCT. Each entry is a sum of the 13-bit constants of Loeffler, Ligtenberg and Moschytz's
// factorisation (ICASSP 1989), which the library uses: hence both 10703 and 10704. As in the library, each of the two passes
// rounds its sums, so that values halfway between two steps are rounded to the same side.
constexpr Block kCosines = {8192,  8192,   8192,   8192,   8192,   8192,  8192,   8192,    //
                            11363, 9633,   6437,   2260,   -2260,  -6437, -9633,  -11363,  //
                            10703, 4433,   -4433,  -10703, -10703, -4433, 4433,   10703,   //
                            9633,  -2259,  -11362, -6436,  6436,   11362, 2259,   -9633,   //
                            8192,  -8192,  -8192,  8192,   8192,   -8192, -8192,  8192,    //
                            6437,  -11362, 2261,   9633,   -9633,  -2261, 11362,  -6437,   //
                            4433,  -10704, 10704,  -4433,  -4433,  10704, -10704, 4433,    //
                            2260,  -6436,  9633,   -11363, 11363,  -9633, 6436,   -2260};

constexpr Block transposed(const Block& a) {
  Block result{};
  for (std::size_t i = 0; i < 64; ++i) result[8 * (i % 8) + i / 8] = a[i];
  return result;
}

constexpr Block kTransposed = transposed(kCosines);

// a b / 2^shift, rounded.
template <int shift>
void multiply_blocks(const Block& a, const Block& b, Block& product) {
  for (std::size_t row = 0; row < 8; ++row) {
    std::array<std::int32_t, 8> sum{};
    for (std::size_t k = 0; k < 8; ++k) {
      const std::int32_t factor = a[8 * row + k];
      for (std::size_t column = 0; column < 8; ++column) sum[column] += factor * b[8 * k + column];
    }
    for (std::size_t column = 0; column < 8; ++column) product[8 * row + column] = (sum[column] + (1 << (shift - 1))) >> shift;
  }
}

// A plane of samples from 0 to 255, padded to whole blocks.
struct CodedPlane {
  std::int64_t rows, columns;  // multiples of 8
  Samples samples;

  CodedPlane(std::int64_t own_rows, std::int64_t own_columns)
      : rows((own_rows + 7) / 8 * 8), columns((own_columns + 7) / 8 * 8), samples(static_cast<std::size_t>(rows * columns)) {}
  std::int32_t* row(std::int64_t r) { return samples.data() + r * columns; }

  void repeat_rows_from(std::int64_t first) {
    for (std::int64_t r = first; r < rows; ++r) std::copy(row(first - 1), row(first - 1) + columns, row(r));
  }
};

// Rounds a coefficient, given as 8 times its value, to the nearest multiple of `step`; ties are rounded away from zero.
std::int32_t quantized(std::int32_t coefficient, std::int32_t step) {
  // In float32, this division is exact enough and fast.
  const auto size = static_cast<float>(std::abs(coefficient) + 4 * step);
  const std::int32_t steps = static_cast<std::int32_t>(size / static_cast<float>(8 * step)) * step;
  return coefficient < 0 ? -steps : steps;
}

void code_block(const Block& table, std::int32_t* corner, std::int64_t stride) {
  Block f, half, coefficients;
  for (std::int64_t r = 0; r < 8; ++r) {
    for (std::int64_t c = 0; c < 8; ++c) f[8 * r + c] = corner[r * stride + c] - 128;
  }
  multiply_blocks<11>(f, kTransposed, half);
  multiply_blocks<15>(kCosines, half, coefficients);
  for (std::size_t i = 0; i < 64; ++i) coefficients[i] = quantized(coefficients[i], table[i]);
  multiply_blocks<11>(kTransposed, coefficients, half);
  multiply_blocks<18>(half, kCosines, f);
  for (std::int64_t r = 0; r < 8; ++r) {
    for (std::int64_t c = 0; c < 8; ++c) corner[r * stride + c] = std::clamp(f[8 * r + c] + 128, 0, 255);
  }
}

void code_plane(const Block& table, CodedPlane& plane) {
  for (std::int64_t r = 0; r < plane.rows; r += 8) {
    for (std::int64_t c = 0; c < plane.columns; c += 8) code_block(table, plane.row(r) + c, plane.columns);
  }
}

std::int32_t byte_of(float value) { return static_cast<std::int32_t>(std::clamp(value, 0.0F, 1.0F) * 255.0F + 0.5F); }

float value_of(std::int32_t byte) { return static_cast<float>(std::clamp(byte, 0, 255)) / 255.0F; }

void code_grey(const Image& image, const Block& table, std::span<float> x) {
  CodedPlane plane(image.rows, image.columns);
  for (std::int64_t r = 0; r < image.rows; ++r) {
    for (std::int64_t c = 0; c < plane.columns; ++c)
      plane.row(r)[c] = byte_of(x[r * image.columns + std::min(c, image.columns - 1)]);
  }
  plane.repeat_rows_from(image.rows);
  code_plane(table, plane);
  for (std::int64_t r = 0; r < image.rows; ++r) {
    for (std::int64_t c = 0; c < image.columns; ++c) x[r * image.columns + c] = value_of(plane.row(r)[c]);
  }
}

// Colours are converted with the coefficients of JFIF in units of 2^-16, rounded as libraries do. kHalf rounds the result;
// kMiddle is 128 in these units.
constexpr std::int32_t kHalf = 1 << 15, kMiddle = 128 << 16;

struct Colour {
  std::int32_t y, blue, red;
};

Colour colour_of(std::int32_t r, std::int32_t g, std::int32_t b) {
  return {(19595 * r + 38470 * g + 7471 * b + kHalf) >> 16, (-11059 * r - 21709 * g + 32768 * b + kMiddle + kHalf - 1) >> 16,
          (32768 * r - 27439 * g - 5329 * b + kMiddle + kHalf - 1) >> 16};
}

// Halves a chroma plane by averages of 2 x 2, which are rounded down and up in turn. The columns of `full` are extended to
// twice those of `half`. Below the last row of `full`, that row is repeated.
void halve(const Samples& full, std::int64_t rows, std::int64_t own_rows, CodedPlane& half) {
  const std::int64_t width = 2 * half.columns;
  for (std::int64_t r = 0; r < own_rows; ++r) {
    const std::int32_t* upper = full.data() + 2 * r * width;
    const std::int32_t* lower = full.data() + std::min(2 * r + 1, rows - 1) * width;
    for (std::int64_t c = 0; c < half.columns; ++c) {
      const auto bias = static_cast<std::int32_t>(1 + c % 2);
      half.row(r)[c] = (upper[2 * c] + upper[2 * c + 1] + lower[2 * c] + lower[2 * c + 1] + bias) >> 2;
    }
  }
  half.repeat_rows_from(own_rows);
}

// Computes one row, [2 * columns], of a plane at twice its size: along both axes, three quarters of the nearest sample plus one
// quarter of the next one. If the plane has at most two columns, its samples are repeated instead, as in the library.
void doubled_row(CodedPlane& half, std::int64_t own_rows, std::int64_t columns, std::int64_t row, Samples& sums,
                 Samples& result) {
  const std::int32_t* near = half.row(row / 2);
  if (columns <= 2) {
    for (std::int64_t c = 0; c < 2 * columns; ++c) result[c] = near[c / 2];
    return;
  }
  const std::int32_t* far = half.row(std::clamp<std::int64_t>(row % 2 == 0 ? row / 2 - 1 : row / 2 + 1, 0, own_rows - 1));
  for (std::int64_t c = 0; c < columns; ++c) sums[c] = 3 * near[c] + far[c];
  result[0] = (4 * sums[0] + 8) >> 4;
  result[2 * columns - 1] = (4 * sums[columns - 1] + 7) >> 4;
  for (std::int64_t c = 1; c < columns; ++c) {
    result[2 * c] = (3 * sums[c] + sums[c - 1] + 8) >> 4;
    result[2 * c - 1] = (3 * sums[c - 1] + sums[c] + 7) >> 4;
  }
}

void code_colour(const Image& image, double quality, std::span<float> x) {
  const std::int64_t rows = image.rows, columns = image.columns, pixels = image.pixels();
  const std::int64_t own_rows = (rows + 1) / 2, own_columns = (columns + 1) / 2;
  CodedPlane y(rows, columns), blue(own_rows, own_columns), red(own_rows, own_columns);
  const std::int64_t width = 2 * blue.columns;  // at least the width of y
  Samples full_blue(static_cast<std::size_t>(rows * width)), full_red(full_blue.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* from = x.data() + r * columns;
    std::int32_t *to_blue = full_blue.data() + r * width, *to_red = full_red.data() + r * width, *to_y = y.row(r);
    for (std::int64_t c = 0; c < columns; ++c) {
      const Colour colour = colour_of(byte_of(from[c]), byte_of(from[pixels + c]), byte_of(from[2 * pixels + c]));
      to_y[c] = colour.y;
      to_blue[c] = colour.blue;
      to_red[c] = colour.red;
    }
    std::fill(to_y + columns, to_y + y.columns, to_y[columns - 1]);
    std::fill(to_blue + columns, to_blue + width, to_blue[columns - 1]);
    std::fill(to_red + columns, to_red + width, to_red[columns - 1]);
  }
  y.repeat_rows_from(rows);
  halve(full_blue, rows, own_rows, blue);
  halve(full_red, rows, own_rows, red);
  code_plane(scaled_table(kLuminance, quality), y);
  const Block chrominance = scaled_table(kChrominance, quality);
  code_plane(chrominance, blue);
  code_plane(chrominance, red);
  Samples sums(static_cast<std::size_t>(own_columns)), row_blue(2 * sums.size()), row_red(row_blue.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    doubled_row(blue, own_rows, own_columns, r, sums, row_blue);
    doubled_row(red, own_rows, own_columns, r, sums, row_red);
    float* to = x.data() + r * columns;
    const std::int32_t* light = y.row(r);
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int32_t b = row_blue[c] - 128, d = row_red[c] - 128;
      to[c] = value_of(light[c] + ((91881 * d + kHalf) >> 16));
      to[pixels + c] = value_of(light[c] + ((-22554 * b - 46802 * d + kHalf) >> 16));
      to[2 * pixels + c] = value_of(light[c] + ((116130 * b + kHalf) >> 16));
    }
  }
}

void draw_jpeg(const DrawInputs& in, std::span<float> x) { compress_as_jpeg(in.image, in.theta[0], x); }

}  // namespace

void compress_as_jpeg(const Image& image, double quality, std::span<float> x) {
  if (image.channels == 3) return code_colour(image, quality, x);
  const Block table = scaled_table(kLuminance, quality);
  for (std::int64_t c = 0; c < image.channels; ++c) code_grey(image, table, x.subspan(c * image.pixels(), image.pixels()));
}

Family jpeg_family() {
  return {.name = "jpeg",
          .summary = "compresses the image as a JPEG file of this quality",
          .parameters = {{"quality", "", 100, Link::plain, 1, 100}},
          .number = Family::Number::value,
          .strengths = {80, 50, 20},
          .draw = draw_jpeg,
          .example = "50",
          .bounds = "30,90"};
}

}  // namespace probust::perturb
