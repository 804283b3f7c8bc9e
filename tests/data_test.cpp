// SPDX-License-Identifier: MIT
// Generated data: reproducible from the seed, with the requested classes, at the expected positions.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "probust/base/error.h"
#include "probust/data/datasets.h"
#include "support/refusal.h"

namespace probust {
namespace {

using test::expect_refusal;

TEST(MadeData, DependsOnlyOnTheSeedAndThePosition) {
  for (const MadeDataKind& kind : made_data_kinds()) {
    const MadeData some = make_data(kind, {.count = 20, .seed = 3}), more = make_data(kind, {.count = 45, .seed = 3});
    const MadeData others = make_data(kind, {.count = 20, .seed = 4});
    for (std::int64_t i = 0; i < 20; ++i) {
      EXPECT_EQ(std::vector(some.x.row(i).begin(), some.x.row(i).end()), std::vector(more.x.row(i).begin(), more.x.row(i).end()));
    }
    EXPECT_NE(some.x.data, others.x.data) << kind.name;
    DataMaker maker(kind, {.count = 20, .seed = 3});
    int steps = 1;
    for (; !maker.step(0); ++steps) {
    }
    EXPECT_EQ(steps, 20);
    EXPECT_EQ(maker.data().x.data, some.x.data);
  }
}

TEST(MadeData, AStopRequestEndsIt) {
  DataMaker maker(made_data_kind("digits"), {.count = 20});
  EXPECT_FALSE(maker.step(0));
  maker.stop() = true;
  expect_refusal(ErrorCode::interrupted, [&] { maker.step(0); });
  EXPECT_EQ(maker.done(), 1);
}

TEST(MadeData, HasTheRequestedClassesEquallyOften) {
  for (const MadeDataKind& kind : made_data_kinds()) {
    for (std::int64_t classes = kind.least; classes <= kind.most; ++classes) {
      const MadeData data = make_data(kind, {.count = 10 * classes, .classes = classes});
      EXPECT_EQ(data.classes, classes);
      std::vector<int> counts(static_cast<std::size_t>(classes), 0);
      for (const std::int64_t label : data.labels) ++counts[label];
      EXPECT_EQ(counts, std::vector<int>(static_cast<std::size_t>(classes), 10));
    }
  }
}

double radius(std::span<const float> point) { return std::hypot(point[0], point[1]); }

TEST(MadeData, LiesOnItsCurvesWithoutNoise) {
  const MadeDataOptions options{.count = 60, .classes = 3, .noise = 0.0};
  const MadeData rings = make_data(made_data_kind("rings"), options), blobs = make_data(made_data_kind("blobs"), options);
  const MadeData spirals = make_data(made_data_kind("spirals"), options);
  const MadeData exclusive = make_data(made_data_kind("xor"), {.count = 60, .noise = 0.0});
  for (std::int64_t i = 0; i < 60; ++i) {
    EXPECT_NEAR(radius(rings.x.row(i)), static_cast<double>(i % 3 + 1) / 3, 1e-6);
    EXPECT_NEAR(radius(blobs.x.row(i)), 1, 1e-6);
    EXPECT_LE(radius(spirals.x.row(i)), 1 + 1e-6);
    const double turns = std::atan2(spirals.x.row(i)[1], spirals.x.row(i)[0]) / 6.283185307179586;
    const double arm = turns - radius(spirals.x.row(i)) - static_cast<double>(i % 3) / 3;
    EXPECT_NEAR(arm - std::round(arm), 0, 1e-6);
    EXPECT_EQ(exclusive.x.row(i)[0] * exclusive.x.row(i)[1] > 0, exclusive.labels[i] == 0);
  }
}

TEST(MadeData, NoiseHasItsDeviation) {
  const MadeData blobs = make_data(made_data_kind("blobs"), {.count = 20000, .classes = 2, .noise = 0.3});
  double squares = 0;
  for (std::int64_t i = 0; i < blobs.size(); ++i) {
    const double x = blobs.x.row(i)[0] - (i % 2 == 0 ? 1 : -1), y = blobs.x.row(i)[1];
    squares += (x * x + y * y) / (2.0 * static_cast<double>(blobs.size()));
  }
  EXPECT_NEAR(std::sqrt(squares), 0.3, 0.005);
}

TEST(MadeData, DirectionsAreCosineAndSine) {
  for (double turns = -2; turns < 2; turns += 0.0137) {
    EXPECT_NEAR(direction(turns).x, std::cos(6.283185307179586 * turns), 5e-7) << turns;
    EXPECT_NEAR(direction(turns).y, std::sin(6.283185307179586 * turns), 5e-7) << turns;
  }
}

TEST(MadeData, DigitsAreInkOnPaper) {
  const MadeData digits = make_data(made_data_kind("digits"), {.count = 200, .noise = 0.0});
  EXPECT_EQ(digits.x.shape, Shape({200, 1, 28, 28}));
  for (std::int64_t i = 0; i < 200; ++i) {
    double ink = 0;
    for (const float pixel : digits.x.row(i)) {
      EXPECT_TRUE(pixel >= 0 && pixel <= 1);
      ink += pixel / 784;
    }
    EXPECT_GT(ink, 0.01) << i;
    EXPECT_LT(ink, 0.4) << i;
  }
  // Noise stays within the pixels' range.
  for (const float pixel : make_data(made_data_kind("digits"), {.count = 20, .noise = 0.5}).x.data)
    EXPECT_TRUE(pixel >= 0 && pixel <= 1);
}

// The same digit at two resolutions: one pixel is about the mean of the four pixels at twice the resolution.
TEST(MadeData, DigitsAreDrawnOnPixelsOfAnySize) {
  const MadeDataKind& kind = made_data_kind("digits");
  const MadeData fine = make_data(kind, {.count = 10, .noise = 0.0}),
                 coarse = make_data(kind, {.count = 10, .noise = 0.0, .side = 14});
  ASSERT_EQ(coarse.x.shape, Shape({10, 1, 14, 14}));
  double difference = 0;
  for (std::int64_t i = 0; i < 10; ++i) {
    for (std::int64_t y = 0; y < 14; ++y) {
      for (std::int64_t x = 0; x < 14; ++x) {
        const std::span<const float> from = fine.x.row(i).subspan(56 * y + 2 * x);
        difference += std::abs(coarse.x.row(i)[14 * y + x] - (from[0] + from[1] + from[28] + from[29]) / 4) / 1960;
      }
    }
  }
  EXPECT_LT(difference, 0.02);
}

// The same bits on every compiler and processor: recorded reference values, which WebAssembly also reproduces.
TEST(MadeData, IsTheSameEverywhere) {
  std::uint32_t sum = 0;
  for (const MadeDataKind& kind : made_data_kinds()) {
    for (const float value : make_data(kind, {.count = 30, .seed = 9}).x.data)
      sum = sum * 31 + static_cast<std::uint32_t>(std::lround(static_cast<double>(value) * 16777216));
  }
  EXPECT_EQ(sum, 1489163827U);
}

TEST(MadeData, RejectsInvalidOptions) {
  const MadeDataKind& moons = made_data_kind("moons");
  expect_refusal(ErrorCode::usage, [] { made_data_kind("suns"); });
  expect_refusal(ErrorCode::usage, [&] { make_data(moons, {.count = 0}); });
  expect_refusal(ErrorCode::usage, [&] { make_data(moons, {.classes = 3}); });
  expect_refusal(ErrorCode::usage, [&] { make_data(made_data_kind("rings"), {.classes = 7}); });
  expect_refusal(ErrorCode::usage, [&] { make_data(moons, {.noise = -0.1}); });
  expect_refusal(ErrorCode::usage, [&] { make_data(moons, {.noise = NAN}); });
  expect_refusal(ErrorCode::usage, [&] { make_data(moons, {.side = 28}); });
  expect_refusal(ErrorCode::usage, [&] { make_data(made_data_kind("digits"), {.side = 3}); });
  expect_refusal(ErrorCode::resources, [&] { make_data(moons, {.count = std::int64_t{1} << 60}); });
}

}  // namespace
}  // namespace probust
