// SPDX-License-Identifier: MIT
// Perturbations that are drawn on the CPU: sensor noise and JPEG.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "probust/base/error.h"
#include "probust/perturb/family.h"
#include "probust/perturb/noise_text.h"
#include "support/drawn.h"
#include "support/jpeg_cases.h"

namespace probust {
namespace {

using test::drawn;
using test::lane_of;
using test::picture;

std::vector<float> formula_image(const test::JpegCase& each) {
  std::vector<float> x;
  for (std::int64_t k = 0; k < each.channels; ++k) {
    for (std::int64_t r = 0; r < each.rows; ++r) {
      for (std::int64_t c = 0; c < each.columns; ++c)
        x.push_back(static_cast<float>((r * (11 + 20 * k) + c * (7 + 13 * k) + k * 50 + (r / 3 + c / 4) % 2 * 60) % 256) / 255);
    }
  }
  return x;
}

std::vector<int> bytes_of(const std::vector<float>& x) {
  std::vector<int> bytes;
  for (const float value : x) {
    bytes.push_back(static_cast<int>(std::lround(value * 255)));
    EXPECT_EQ(value, static_cast<float>(bytes.back()) / 255);
  }
  return bytes;
}

std::vector<float> channels_last(const std::vector<float>& planes, std::int64_t channels) {
  const std::size_t pixels = planes.size() / channels;
  std::vector<float> result;
  for (std::size_t i = 0; i < pixels; ++i) {
    for (std::int64_t c = 0; c < channels; ++c) result.push_back(planes[c * pixels + i]);
  }
  return result;
}

TEST(PerturbJpeg, EqualsPillow) {
  for (const test::JpegCase& each : test::jpeg_cases()) {
    const auto x = drawn("jpeg:" + std::to_string(each.quality), {each.channels, each.rows, each.columns}, formula_image(each));
    EXPECT_EQ(bytes_of(x), each.decoded) << each.channels << "x" << each.rows << "x" << each.columns;
  }
}

TEST(PerturbJpeg, TheLayoutDoesNotMatter) {
  for (const test::JpegCase& each : test::jpeg_cases()) {
    if (each.channels != 3 || each.rows <= 4) continue;  // the layout would be ambiguous
    const auto x =
        drawn("jpeg:" + std::to_string(each.quality), {each.rows, each.columns, 3}, channels_last(formula_image(each), 3));
    EXPECT_EQ(bytes_of(x),
              bytes_of(channels_last(
                  drawn("jpeg:" + std::to_string(each.quality), {3, each.rows, each.columns}, formula_image(each)), 3)));
  }
}

TEST(PerturbJpeg, ConstantImagesStayConstant) {
  for (const float value : {0.0F, 128.0F / 255, 1.0F}) {
    for (const Shape& shape : {Shape{1, 1}, Shape{9, 5}, Shape{8, 16}, Shape{3, 11, 18}, Shape{3, 1, 1}}) {
      const std::vector<float> x(static_cast<std::size_t>(element_count(shape)), value);
      for (const float after : drawn("jpeg:50", shape, x)) EXPECT_NEAR(after, value, 1e-6F) << to_string(shape);
    }
  }
}

TEST(PerturbJpeg, ClampsValues) {
  std::vector<float> x = picture({3, 10, 10}), clamped = x;
  for (std::size_t e = 0; e < x.size(); ++e) {
    x[e] = 4 * x[e] - 2;
    clamped[e] = std::clamp(x[e], 0.0F, 1.0F);
  }
  EXPECT_EQ(drawn("jpeg:60", {3, 10, 10}, x), drawn("jpeg:60", {3, 10, 10}, clamped));
}

TEST(PerturbJpeg, TwoOrFourChannelsAreGrey) {
  for (const std::int64_t channels : {2, 4}) {
    const std::vector<float> x = picture({channels, 10, 12}), all = drawn("jpeg:30", {channels, 10, 12}, x);
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto part = [&](const std::vector<float>& from) {
        return std::vector<float>(from.begin() + c * 120, from.begin() + (c + 1) * 120);
      };
      EXPECT_EQ(part(all), drawn("jpeg:30", {10, 12}, part(x)));
    }
  }
}

TEST(PerturbJpeg, ARandomQualityIsAWholeNumber) {
  const Shape shape{1, 16, 16};
  const std::vector<float> x = picture(shape), all = drawn("jpeg:uniform(30,35)", shape, x, 40);
  std::set<std::vector<float>> possible, seen;
  for (int quality = 30; quality <= 35; ++quality) possible.insert(drawn("jpeg:" + std::to_string(quality), shape, x));
  for (std::size_t lane = 0; lane < 40; ++lane) seen.insert(lane_of(all, lane, 40));
  EXPECT_GE(seen.size(), 4);
  EXPECT_TRUE(std::includes(possible.begin(), possible.end(), seen.begin(), seen.end()));
}

TEST(PerturbJpeg, LowerQualitiesLoseMore) {
  const Shape shape{3, 24, 24};
  const std::vector<float> x = picture(shape);
  double last = 0;
  for (const int quality : {100, 90, 60, 30, 10, 2}) {
    const double distance = test::distance(drawn("jpeg:" + std::to_string(quality), shape, x), x);
    EXPECT_GT(distance, last) << quality;
    last = distance;
  }
  EXPECT_LT(test::distance(drawn("jpeg:100", {24, 24}, picture({24, 24})), picture({24, 24})), 24 * 0.003);
}

// The first three moments of k / P with k ~ Poisson(v P), for both methods of drawing.
TEST(PerturbShot, HasTheMomentsOfPoisson) {
  constexpr std::uint32_t kSamples = 500;
  for (const auto& [value, photons] : {std::pair{0.5, 0.7}, std::pair{0.3, 20.0}, std::pair{0.999, 10.0}, std::pair{0.2, 60.0},
                                       std::pair{0.8, 1e4}, std::pair{2.0, 1e6}}) {
    const std::vector<float> x(64, static_cast<float>(value));
    const auto all = drawn("shot:" + std::to_string(photons), {8, 8}, x, kSamples);
    double mean = 0, variance = 0, third = 0;
    for (const float each : all) {
      const double d = double{each} - value;
      mean += d;
      variance += d * d;
      third += d * d * d;
    }
    const double n = static_cast<double>(all.size()), expected = value / photons;
    EXPECT_NEAR(mean / n, 0, 4 * std::sqrt(expected / n)) << photons;
    EXPECT_NEAR(variance / n / expected, 1, 4 * std::sqrt((2 + 1 / (value * photons)) / n)) << photons;
    const double skewness = third / n / std::pow(expected, 1.5);
    EXPECT_NEAR(skewness, 1 / std::sqrt(value * photons), 0.1) << photons;
  }
}

// Every count occurs as often as it should.
TEST(PerturbShot, HasTheProbabilitiesOfPoisson) {
  constexpr std::uint32_t kSamples = 1000;
  for (const double mean : {0.4, 4.0, 9.99, 10.01, 30.0}) {
    const std::vector<float> x(100, 1.0F);
    const auto all = drawn("shot:" + std::to_string(mean), {10, 10}, x, kSamples);
    std::vector<double> counts(80, 0);
    for (const float each : all) ++counts[static_cast<std::size_t>(std::lround(each * mean))];
    double chi_squared = 0, cells = 0, p = std::exp(-mean);
    for (std::size_t k = 0; k < counts.size(); ++k) {
      const double expected = p * static_cast<double>(all.size());
      if (expected >= 10) {
        chi_squared += (counts[k] - expected) * (counts[k] - expected) / expected;
        ++cells;
      }
      p *= mean / static_cast<double>(k + 1);
    }
    EXPECT_LT(chi_squared, cells + 4 * std::sqrt(2 * cells)) << mean;
  }
}

TEST(PerturbShot, BrightPixelsStayAndNegativeOnesAreBlack) {
  const std::vector<float> x = {0.0F, -0.5F, 1.0F, 0.25F};
  const auto all = drawn("shot:1000000", {2, 2}, x);
  EXPECT_EQ(all[0], 0);
  EXPECT_EQ(all[1], 0);
  EXPECT_NEAR(all[2], 1, 0.006);
  EXPECT_NEAR(all[3], 0.25, 0.003);
}

TEST(PerturbSaltPepper, SetsAShareOfThePixels) {
  constexpr std::uint32_t kSamples = 200;
  const Shape shape{3, 20, 20};
  const std::vector<float> x(1200, 0.5F);
  const auto all = drawn("salt-pepper:0.1", shape, x, kSamples);
  double black = 0, white = 0;
  for (std::size_t e = 0; e < 400; ++e) {
    for (std::size_t lane = 0; lane < kSamples; ++lane) {
      const float value = all[e * kSamples + lane];
      EXPECT_EQ(value, all[(400 + e) * kSamples + lane]);
      EXPECT_EQ(value, all[(800 + e) * kSamples + lane]);
      black += value == 0.0F ? 1 : 0;
      white += value == 1.0F ? 1 : 0;
    }
  }
  const double n = 400 * kSamples, tolerance = 4 * std::sqrt(0.05 * 0.95 / n);
  EXPECT_NEAR(black / n, 0.05, tolerance);
  EXPECT_NEAR(white / n, 0.05, tolerance);
}

TEST(PerturbSaltPepper, ShareZeroAndOne) {
  const std::vector<float> x = picture({3, 5, 6});
  EXPECT_EQ(drawn("salt-pepper:fixed(0)", {3, 5, 6}, x), x);
  for (const float value : drawn("salt-pepper:1", {3, 5, 6}, x)) EXPECT_TRUE(value == 0 || value == 1) << value;
}

TEST(PerturbDraw, ALaneDoesNotDependOnTheOthers) {
  for (const std::string text : {"shot:30", "salt-pepper:0.2", "jpeg:uniform(5,95)", "shot:50+jpeg:70", "jpeg:40+gaussian:0.1",
                                 "corruption:fog:4", "corruption:glass_blur:5"}) {
    for (const Shape& shape : {Shape{3, 9, 10}, Shape{9, 10, 3}, Shape{7, 5}}) {
      const std::vector<float> x = picture(shape);
      const auto all = drawn(text, shape, x, 37);
      for (const std::uint32_t lane : {0U, 1U, 15U, 16U, 36U})
        EXPECT_EQ(lane_of(all, lane, 37), drawn(text, shape, x, 1, lane)) << text << " " << lane;
    }
  }
}

TEST(PerturbDraw, StagesHaveTheirOwnDraws) {
  const std::vector<float> x(100, 0.5F);
  const auto once = drawn("salt-pepper:0.5", {10, 10}, x), twice = drawn("salt-pepper:0.5+salt-pepper:0.5", {10, 10}, x);
  EXPECT_LT(std::count(twice.begin(), twice.end(), 0.5F), std::count(once.begin(), once.end(), 0.5F) - 10);
}

TEST(PerturbDraw, TextsAreCanonical) {
  EXPECT_EQ(parse_noise("shot:1e2").text(), "shot:100");
  EXPECT_EQ(parse_noise("jpeg:50.0").text(), "jpeg:50");
  EXPECT_EQ(parse_noise("jpeg:uniform(30,90)").text(), "jpeg:uniform(30,90)");
  EXPECT_EQ(parse_noise("salt-pepper:0.020+corruption:fog:3").text(), "salt-pepper:0.02+corruption:fog:3");
}

TEST(PerturbDraw, RefusesWhatItDoesNotUnderstand) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      return parse_noise(text).text();
    } catch (const Error& error) {
      return error.message();
    }
  };
  EXPECT_EQ(message("jpeg:0"),
            "noise 'jpeg:0' needs a positive number after its name; write jpeg:50, jpeg:uniform(30,90) or jpeg:fixed(50)");
  EXPECT_EQ(message("jpeg:101"),
            "noise 'jpeg:101' has a value outside 1 to 100; write jpeg:50, jpeg:uniform(30,90) or jpeg:fixed(50)");
  EXPECT_EQ(message("shot:-1"),
            "noise 'shot:-1' needs a positive number after its name; write shot:100, shot:uniform(50,200) or shot:fixed(100)");
  EXPECT_EQ(message("shot:1e7"),
            "noise 'shot:1e7' has a value outside 0.01 to 1000000; write shot:100, shot:uniform(50,200) or shot:fixed(100)");
  EXPECT_EQ(message("shot"),
            "noise 'shot' needs a positive number after its name; write shot:100, shot:uniform(50,200) or shot:fixed(100)");
  for (const std::string severity : {":9", ":0", ":2.5", ":-1", ":", "", ":many", ":uniform(1,3)", ":fixed(3)"})
    EXPECT_EQ(message("corruption:fog" + severity), "noise 'corruption:fog" + severity +
                                                        "' needs a severity that is a whole number from 1 to 5; "
                                                        "write corruption:fog:1 to corruption:fog:5");
  for (const std::string text : {"corruption:smog:3", "corruption:frost:3", "corruption:", "corruption", "corruption:foggy:2"})
    EXPECT_EQ(message(text),
              "noise '" + text +
                  "' is not a known corruption; write corruption:NAME:3 with one of the names gaussian_noise, shot_noise, "
                  "impulse_noise, defocus_blur, glass_blur, motion_blur, zoom_blur, snow, fog, brightness, contrast, "
                  "elastic_transform, pixelate, jpeg_compression");
}

}  // namespace
}  // namespace probust
