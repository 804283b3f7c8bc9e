// SPDX-License-Identifier: MIT
// The direction numbers are those of Joe and Kuo, "Constructing Sobol sequences with better two-dimensional projections" (SIAM
// J. Sci. Comput. 2008). Points are scrambled by a hash of their digits, which is a nested uniform permutation (Burley,
// "Practical hash-based Owen scrambling", JCGT 2020; Laine and Karras 2011).
#include "probust/estimators/statistics/sobol.h"

#include <array>
#include <bit>

#include "probust/base/philox.h"
#include "probust/normal/univariate.h"

namespace probust {
namespace {

// A primitive polynomial over GF(2) by its degree and its inner coefficients, and the first odd numbers m of the recurrence.
struct Primitive {
  std::uint8_t degree, inner;
  std::array<std::uint8_t, 7> m;
};

// Dimensions 2 and up. Dimension 1 is the van der Corput sequence.
constexpr std::array<Primitive, SobolNormals::kMostDimensions - 1> kPrimitives = {{
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
}};

// direction[k] is the digit vector of bit k of a point's number.
void fill_directions(std::int64_t dimension, std::uint32_t (&direction)[32]) {
  if (dimension == 0) {
    for (int k = 0; k < 32; ++k) direction[k] = 1U << (31 - k);
    return;
  }
  const Primitive& primitive = kPrimitives[dimension - 1];
  const int s = primitive.degree;
  for (int k = 0; k < 32; ++k) {
    if (k < s) {
      direction[k] = std::uint32_t{primitive.m[k]} << (31 - k);
      continue;
    }
    direction[k] = direction[k - s] ^ (direction[k - s] >> s);
    for (int j = 1; j < s; ++j) {
      if ((primitive.inner >> (s - 1 - j) & 1U) != 0) direction[k] ^= direction[k - j];
    }
  }
}

std::uint32_t reversed(std::uint32_t x) {
  x = (x >> 1 & 0x55555555U) | (x & 0x55555555U) << 1;
  x = (x >> 2 & 0x33333333U) | (x & 0x33333333U) << 2;
  x = (x >> 4 & 0x0f0f0f0fU) | (x & 0x0f0f0f0fU) << 4;
  x = (x >> 8 & 0x00ff00ffU) | (x & 0x00ff00ffU) << 8;
  return x >> 16 | x << 16;
}

// Flips each digit depending on the more significant digits.
std::uint32_t scrambled(std::uint32_t digits, std::uint32_t seed) {
  std::uint32_t x = reversed(digits);
  x ^= x * 0x3d20adeaU;
  x += seed;
  x *= (seed >> 16) | 1U;
  x ^= x * 0x05526c56U;
  x ^= x * 0x53a22864U;
  return reversed(x);
}

}  // namespace

SobolNormals::SobolNormals(std::int64_t dimensions, std::uint64_t seed) : axes_(static_cast<std::size_t>(dimensions)) {
  const PhiloxKey key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  for (std::size_t k = 0; k < axes_.size(); ++k) {
    fill_directions(static_cast<std::int64_t>(k), axes_[k].direction);
    axes_[k].scramble = philox({static_cast<std::uint32_t>(k), 0, 0, 0}, key)[0];
  }
}

double SobolNormals::normal(std::uint32_t number, std::int64_t dimension) const {
  const Axis& axis = axes_[dimension];
  std::uint32_t digits = 0;
  for (std::uint32_t rest = number; rest != 0; rest &= rest - 1) digits ^= axis.direction[std::countr_zero(rest)];
  return normal::quantile((scrambled(digits, axis.scramble) + 0.5) * 0x1p-32);
}

Eigen::MatrixXd SobolNormals::first(std::int64_t count) const {
  Eigen::MatrixXd points(count, dimensions());
  for (Eigen::Index i = 0; i < count; ++i) {
    for (Eigen::Index d = 0; d < points.cols(); ++d) points(i, d) = normal(static_cast<std::uint32_t>(i), d);
  }
  return points;
}

std::uint64_t design_seed(std::uint64_t seed, std::uint64_t number) {
  constexpr std::uint32_t kDesign = 0x50b01;
  const PhiloxCounter words =
      philox({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32), kDesign, kDesign},
             {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return std::uint64_t{words[1]} << 32 | words[0];
}

}  // namespace probust
