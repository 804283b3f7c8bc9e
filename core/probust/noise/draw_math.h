// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>

#include "probust/base/host_device.h"

// Standard normals from Philox words by Box and Muller, "A note on the generation of random normal deviates" (1958); Laplace's
// distribution by inversion. Logarithm, exponential, sine and cosine are computed from additions, multiplications, one division
// and one square root, which IEEE 754 rounds in the same way everywhere. So the same seed gives the same bits on every compiler,
// CPU and browser. Accuracy about 3e-7; the largest normal draw is 6.7.
namespace probust::draws {

// ln x for normal positive x: x = 2^e m with m in [sqrt(1/2), sqrt(2)), ln m = 2 artanh((m - 1) / (m + 1)) as a series.
PROBUST_HOST_DEVICE inline float natural_log(float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t shifted = bits - 0x3f3504f3U;  // bits of sqrt(1/2)
  const auto exponent = static_cast<std::int32_t>(shifted) >> 23;
  const float m = __builtin_bit_cast(float, bits - (static_cast<std::uint32_t>(exponent) << 23));
  const float s = (m - 1.0F) / (m + 1.0F), s2 = s * s;
  const float series = 1.0F + s2 * (0.33333333F + s2 * (0.2F + s2 * (0.14285714F + s2 * 0.11111111F)));
  return static_cast<float>(exponent) * 0.69314718F + 2.0F * s * series;
}

// e^x - 1 as a series, for |x| <= 0.35.
PROBUST_HOST_DEVICE inline float small_exponential(float x) {
  return x * (1.0F + x * (0.5F + x * (0.16666667F +
                                      x * (0.041666667F + x * (0.0083333333F + x * (0.0013888889F + x * 1.9841270e-4F))))));
}

// e^x for |x| <= 87: x = k ln 2 + r with |r| <= ln 2 / 2.
PROBUST_HOST_DEVICE inline float exponential(float x) {
  const float kept = x < -87.0F ? -87.0F : x > 87.0F ? 87.0F : x;
  const float k = std::floor(kept * 1.44269504F + 0.5F);
  const float r = (kept - k * 0.693359375F) + k * 2.12194440e-4F;
  const auto power = static_cast<std::uint32_t>(static_cast<std::int32_t>(k) + 127) << 23;
  return (1.0F + small_exponential(r)) * __builtin_bit_cast(float, power);
}

// Cosine and sine of a uniform angle: the top two bits choose the quadrant, the others the angle within (-pi/4, pi/4).
PROBUST_HOST_DEVICE inline void uniform_direction(std::uint32_t word, float& c, float& s) {
  const auto centred = static_cast<std::int32_t>(word & 0x3fffffffU) - 0x20000000;
  const float a = static_cast<float>(centred) * (1.57079633F / 1073741824.0F), a2 = a * a;
  const float sine = a * (1.0F - a2 * (0.16666667F - a2 * (0.0083333333F - a2 * (1.9841270e-4F - a2 * 2.7557319e-6F))));
  const float cosine = 1.0F - a2 * (0.5F - a2 * (0.041666667F - a2 * (0.0013888889F - a2 * 2.4801587e-5F)));
  const bool odd = (word & 0x40000000U) != 0, flip = (word & 0x80000000U) != 0;
  const float first = odd ? -sine : cosine, second = odd ? cosine : sine;
  c = flip ? -first : first;
  s = flip ? -second : second;
}

PROBUST_HOST_DEVICE inline void normal_pair(std::uint32_t radius_word, std::uint32_t angle_word, float& z0, float& z1) {
  const float u = (static_cast<float>(radius_word) + 0.5F) * (1.0F / 4294967296.0F);
  // u rounds to 1 for the largest words; the logarithm is then exactly 0.
  const float radius = std::sqrt(-2.0F * natural_log(u));
  float c = 0, s = 0;
  uniform_direction(angle_word, c, s);
  z0 = radius * c;
  z1 = radius * s;
}

// Student's t with `freedom` degrees of freedom: Bailey, "Polar generation of random variates with the t-distribution",
// Mathematics of Computation 62 (1994) 779-781: sqrt(f (u^(-2/f) - 1)) times the cosine of a uniform angle.
PROBUST_HOST_DEVICE inline float student_draw(std::uint32_t radius_word, std::uint32_t angle_word, float freedom) {
  const float u = (static_cast<float>(radius_word) + 0.5F) * (1.0F / 4294967296.0F);
  const float a = -2.0F / freedom * natural_log(u);
  float c = 0, s = 0;
  uniform_direction(angle_word, c, s);
  return std::sqrt(freedom * (a < 0.35F ? small_exponential(a) : exponential(a) - 1.0F)) * c;
}

// Uniform on (-1, 1).
PROBUST_HOST_DEVICE inline float uniform_draw(std::uint32_t word) {
  return (static_cast<float>(static_cast<std::int32_t>(word)) + 0.5F) * (1.0F / 2147483648.0F);
}

// The sign comes from one bit, the size from the others.
PROBUST_HOST_DEVICE inline float laplace_draw(std::uint32_t word) {
  const float u = (static_cast<float>(word & 0x7fffffffU) + 0.5F) * (1.0F / 2147483648.0F);
  const float size = -natural_log(u);
  return (word & 0x80000000U) != 0 ? -size : size;
}

}  // namespace probust::draws
