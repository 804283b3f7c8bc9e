// SPDX-License-Identifier: MIT
// Noise is a function of (seed, point, sample, element) alone, and it is normal.
#include "probust/noise/noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "probust/base/error.h"
#include "probust/base/philox.h"

namespace probust {
namespace {

std::vector<float> draw(std::uint64_t seed, const std::vector<std::uint32_t>& points, const std::vector<std::uint32_t>& samples,
                        std::int64_t elements, float scale = 1) {
  std::vector<float> x(points.size() * elements, 0.0F);
  isotropic_gaussian()->add({seed, points, samples}, elements, scale, x.data());
  return x;
}

// Known answers from the authors' Random123 distribution (kat_vectors).
TEST(Noise, PhiloxGivesTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Noise, ALaneDoesNotDependOnTheOthers) {
  std::vector<std::uint32_t> points, samples;
  for (std::uint32_t i = 0; i < 200; ++i) {
    points.push_back(i / 50);
    samples.push_back(i % 50);
  }
  const auto all = draw(42, points, samples, 11);
  for (const std::size_t lane : {0UL, 17UL, 63UL, 64UL, 199UL}) {
    const auto alone = draw(42, {points[lane]}, {samples[lane]}, 11);
    for (std::size_t e = 0; e < 11; ++e) EXPECT_EQ(alone[e], all[e * 200 + lane]);
  }
  EXPECT_NE(draw(43, {0}, {0}, 11), draw(42, {0}, {0}, 11));
  EXPECT_NE(draw(42, {1}, {0}, 11), draw(42, {0}, {0}, 11));
  EXPECT_NE(draw(42, {0}, {1}, 11), draw(42, {0}, {0}, 11));
}

// Fixed values: the same bits on every compiler and target.
TEST(Noise, TheBitsAreFixed) {
  const auto x = draw(7, {3}, {5}, 8);
  std::uint64_t hash = 1469598103934665603ULL;
  for (const float value : x) {
    hash ^= __builtin_bit_cast(std::uint32_t, value);
    hash *= 1099511628211ULL;
  }
  EXPECT_EQ(hash, 12552180982160729946ULL) << std::hexfloat << x[0] << " " << x[1];
}

TEST(Noise, MomentsAndDistributionAreNormal) {
  const std::int64_t n = 4000, d = 250;
  std::vector<std::uint32_t> points(n, 0), samples(n);
  for (std::int64_t i = 0; i < n; ++i) samples[i] = static_cast<std::uint32_t>(i);
  std::vector<float> x = draw(1, points, samples, d);
  double mean = 0, variance = 0, skewness = 0, kurtosis = 0, neighbours = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean += x[i];
    variance += double{x[i]} * x[i];
    skewness += std::pow(double{x[i]}, 3);
    kurtosis += std::pow(double{x[i]}, 4);
    if (i + n < x.size()) neighbours += double{x[i]} * x[i + n];  // element e and e + 1 of one sample
  }
  const double count = static_cast<double>(x.size()), tolerance = 4 / std::sqrt(count);
  EXPECT_NEAR(mean / count, 0, tolerance);
  EXPECT_NEAR(variance / count, 1, tolerance * std::sqrt(2.0));
  EXPECT_NEAR(skewness / count, 0, tolerance * std::sqrt(15.0));
  EXPECT_NEAR(kurtosis / count, 3, tolerance * std::sqrt(96.0));
  EXPECT_NEAR(neighbours / count, 0, tolerance);
  // Kolmogorov-Smirnov: the largest gap to the normal distribution function stays under its 99.9% point.
  std::sort(x.begin(), x.end());
  double gap = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double cdf = 0.5 * std::erfc(-double{x[i]} / std::sqrt(2.0));
    gap = std::max({gap, std::fabs(cdf - static_cast<double>(i) / count), std::fabs(cdf - static_cast<double>(i + 1) / count)});
  }
  EXPECT_LT(gap, 1.95 / std::sqrt(count));
}

TEST(Noise, ItIsAddedAtItsScale) {
  std::vector<float> x = {10, 20};
  const auto z = draw(3, {0}, {0}, 2);
  isotropic_gaussian()->add({3, std::vector<std::uint32_t>{0}, std::vector<std::uint32_t>{0}}, 2, 0.5F, x.data());
  EXPECT_FLOAT_EQ(x[0], 10 + 0.5F * z[0]);
  EXPECT_FLOAT_EQ(x[1], 20 + 0.5F * z[1]);
}

TEST(Noise, TextsAreReadAndWritten) {
  EXPECT_EQ(parse_noise("gaussian:0.1").text(), "gaussian:0.1");
  EXPECT_EQ(parse_noise("gaussian:2.5e-1").text(), "gaussian:0.25");
  for (const char* wrong :
       {"gaussian", "gaussian:", "gaussian:0", "gaussian:-1", "gaussian:nan", "gaussian:inf", "gaussian:1x", "cauchy:1", ""}) {
    EXPECT_THROW(parse_noise(wrong), Error) << wrong;
  }
}

}  // namespace
}  // namespace probust
