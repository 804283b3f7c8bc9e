// SPDX-License-Identifier: MIT
// The presets corruption:NAME:SEVERITY.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "probust/perturb/family.h"
#include "probust/perturb/raster.h"
#include "support/drawn.h"

namespace probust {
namespace {

using test::drawn;
using test::picture;

std::vector<const perturb::Family*> presets() {
  std::vector<const perturb::Family*> all;
  for (const perturb::Family& family : perturb::families()) {
    if (family.name.starts_with("corruption:")) all.push_back(&family);
  }
  return all;
}

std::string preset_text(const perturb::Family& family, int severity) {
  return std::string(family.name) + ":" + std::to_string(severity);
}

double mean_of(const std::vector<float>& x) { return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size()); }

double variance_of(const std::vector<float>& x) {
  const double mean = mean_of(x);
  double sum = 0;
  for (const float value : x) sum += (double{value} - mean) * (double{value} - mean);
  return sum / static_cast<double>(x.size());
}

TEST(Corruptions, AreFourteen) { EXPECT_EQ(presets().size(), 14); }

// With all three sets of constants, and for images that are smaller than the filters.
TEST(Corruptions, AreDeterministicAndBetweenBlackAndWhite) {
  for (const Shape& shape :
       {Shape{3, 32, 32}, Shape{1, 64, 66}, Shape{1, 120, 122}, Shape{5, 4, 3}, Shape{1, 1}, Shape{4, 2, 7}}) {
    std::vector<float> x = picture(shape);
    x[0] = 1.5F;
    x.back() = -0.5F;
    for (const perturb::Family* family : presets()) {
      for (const int severity : {1, 3, 5}) {
        if (shape == Shape{1, 120, 122} && severity == 3) continue;
        const std::string text = preset_text(*family, severity);
        const std::vector<float> once = drawn(text, shape, x);
        EXPECT_EQ(once, drawn(text, shape, x)) << text;
        for (const float value : once) ASSERT_TRUE(value >= 0 && value <= 1) << text << " " << value << " " << to_string(shape);
        if (shape != Shape{3, 32, 32}) continue;
        EXPECT_EQ(once == drawn(text, shape, x, 1, 7), !family->draws) << text;
        EXPECT_EQ(once == drawn(text, shape, x, 1, 0, 2), !family->draws) << text;
      }
    }
  }
}

TEST(Corruptions, GrowWithTheirSeverity) {
  for (const Shape& shape : {Shape{3, 32, 32}, Shape{1, 64, 64}, Shape{1, 120, 120}}) {
    const std::vector<float> x = picture(shape);
    for (const perturb::Family* family : presets()) {
      std::vector<double> distances;
      for (int severity = 1; severity <= 5; ++severity) {
        double sum = 0;
        for (std::uint32_t sample = 0; sample < 3; ++sample)
          sum += test::distance(drawn(preset_text(*family, severity), shape, x, 1, sample), x);
        distances.push_back(sum);
      }
      // As the published severity of elastic_transform increases, the corners move less and less, and neighbours move more and
      // more relative to each other.
      const std::string name(family->name.substr(11));
      EXPECT_TRUE(distances[4] > distances[0] || name == "elastic_transform") << name << " " << to_string(shape);
      // Other corruptions change several constants at once, or depend on the positions of details in the picture.
      const std::set<std::string> steady = {"gaussian_noise", "shot_noise", "impulse_noise", "brightness", "contrast"};
      EXPECT_TRUE(!steady.contains(name) || std::is_sorted(distances.begin(), distances.end()))
          << name << " " << to_string(shape);
    }
  }
}

// Images whose size is nearest to 32 pixels get the constants of CIFAR-10-C; those nearest to 64, of Tiny-ImageNet-C; those
// nearest to 224, of ImageNet-C.
TEST(Corruptions, ChooseConstantsByTheShorterSide) {
  const auto fog = [](const Shape& shape) {  // at a point without fog, a value v becomes v^2 / (v + strength)
    const std::vector<float> x(static_cast<std::size_t>(element_count(shape)), 0.5F);
    const std::vector<float> foggy = drawn("corruption:fog:3", shape, x);
    return 0.25 / double{*std::min_element(foggy.begin(), foggy.end())} - 0.5;
  };
  EXPECT_NEAR(fog({3, 32, 32}), 0.75, 1e-5);
  EXPECT_NEAR(fog({3, 45, 64}), 0.75, 1e-5);
  EXPECT_NEAR(fog({1, 46, 64}), 1, 1e-5);
  EXPECT_NEAR(fog({64, 64}), 1, 1e-5);
  EXPECT_NEAR(fog({119, 128}), 1, 1e-5);
  EXPECT_NEAR(fog({128, 128}), 2.5, 1e-5);
}

TEST(Corruptions, NoiseHasItsStrength) {
  const Shape shape{3, 32, 32};
  const std::vector<float> x(3072, 0.5F);
  EXPECT_NEAR(std::sqrt(variance_of(drawn("corruption:gaussian_noise:5", shape, x, 10))), 0.10, 0.002);
  EXPECT_NEAR(std::sqrt(variance_of(drawn("corruption:shot_noise:5", shape, x, 10))), 0.1, 0.002);
  const std::vector<float> salted = drawn("corruption:impulse_noise:5", shape, x, 10);
  const double n = static_cast<double>(salted.size());
  EXPECT_NEAR(static_cast<double>(std::count(salted.begin(), salted.end(), 0.0F)) / n, 0.035, 0.005);
  EXPECT_NEAR(static_cast<double>(std::count(salted.begin(), salted.end(), 1.0F)) / n, 0.035, 0.005);
}

TEST(Corruptions, LightFollowsItsFormula) {
  const std::vector<float> x = {0.2F, 0.4F, 0.0F, 0.9F, 0.1F, 0.3F, 0.0F, 0.6F, 0.4F, 0.2F, 0.0F, 0.3F};  // 3 x 2 x 2
  const std::vector<float> bright = drawn("corruption:brightness:3", {3, 2, 2}, x);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(bright[4 * c], x[4 * c] * (0.55F / 0.4F), 1e-6);
    EXPECT_NEAR(bright[4 * c + 2], 0.15F, 1e-6) << "black becomes grey";
    EXPECT_NEAR(bright[4 * c + 3], x[4 * c + 3] / 0.9F, 1e-6) << "up to white, with the same hue";
  }
  const std::vector<float> flat = drawn("corruption:contrast:2", {3, 2, 2}, x);
  const float mean = (0.1F + 0.3F + 0.0F + 0.6F) / 4;
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(flat[4 + i], mean + 0.5F * (x[4 + i] - mean), 1e-6);
}

TEST(Corruptions, JpegIsTheFamily) {
  const std::vector<float> x = picture({3, 32, 32});
  EXPECT_EQ(drawn("corruption:jpeg_compression:1", {3, 32, 32}, x), drawn("jpeg:80", {3, 32, 32}, x));
  EXPECT_EQ(drawn("corruption:jpeg_compression:5", {3, 32, 32}, x), drawn("jpeg:40", {3, 32, 32}, x));
}

TEST(Corruptions, PixelateAveragesBlocks) {
  // 3 of 4 pixels (severity 4): centres 0.67, 2 and 3.33 hold pixels {0}, {1, 2}, {3}; enlarged, those are {0}, {1}, {1}, {2}.
  const std::vector<float> x = {0.1F, 0.2F, 0.6F, 0.9F, 0.1F, 0.2F, 0.6F, 0.9F, 0.1F, 0.2F, 0.6F, 0.9F, 0.1F, 0.2F, 0.6F, 0.9F};
  const std::vector<float> coarse = drawn("corruption:pixelate:4", {4, 4}, x);
  const std::vector<float> expected = {0.1F, 0.4F, 0.4F, 0.9F};
  for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(coarse[i], expected[i % 4], 1e-6) << i;
}

TEST(Corruptions, BlursKeepWhatIsConstant) {
  for (const std::string name : {"defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "elastic_transform", "pixelate"}) {
    for (const Shape& shape : {Shape{3, 32, 32}, Shape{66, 64}, Shape{122, 120}}) {
      const std::vector<float> x(static_cast<std::size_t>(element_count(shape)), 0.7F);
      for (const float value : drawn("corruption:" + name + ":4", shape, x))
        ASSERT_NEAR(value, 0.7F, name == "defocus_blur" ? 0.01 : 1e-5) << name;
    }
  }
}

TEST(Corruptions, BlursSpreadAPoint) {
  const auto point = [](const std::string& text) {
    std::vector<float> x(33 * 33, 0.0F);
    x[16 * 33 + 16] = 1;
    return drawn(text, {33, 33}, x);
  };
  for (const std::string name : {"defocus_blur", "motion_blur"})
    EXPECT_NEAR(mean_of(point("corruption:" + name + ":5")) * 33 * 33, 1, 1e-4) << name;
  const std::vector<float> disc = point("corruption:defocus_blur:5");  // radius 1.5: 3 x 3, hardly smoothed
  for (std::int64_t r = 14; r <= 18; ++r) {
    for (std::int64_t c = 14; c <= 18; ++c)
      EXPECT_NEAR(disc[r * 33 + c], std::max(std::abs(r - 16), std::abs(c - 16)) <= 1 ? 1.0 / 9 : 0, 1e-6) << r << " " << c;
  }
}

// Without blur, each pixel gets its own value or that of a neighbour above or to the left, each with probability 1/4. Pixels
// near the border do not change.
TEST(Corruptions, GlassCopiesNeighbours) {
  std::vector<float> x(32 * 32);
  std::iota(x.begin(), x.end(), 0.0F);
  for (float& value : x) value /= 1024;
  const std::vector<float> after = drawn("corruption:glass_blur:1", {32, 32}, x);
  std::array<int, 4> counts{};
  for (std::int64_t i = 0; i < 1024; ++i) {
    const std::int64_t from = std::lround(after[static_cast<std::size_t>(i)] * 1024), up = i / 32 - from / 32,
                       left = i % 32 - from % 32;
    if (i / 32 < 2 || i % 32 < 2) {
      ASSERT_EQ(from, i);
    } else {
      ASSERT_TRUE(up >= 0 && up <= 1 && left >= 0 && left <= 1) << i << " " << from;
      ++counts[static_cast<std::size_t>(2 * up + left)];
    }
  }
  for (const int count : counts) EXPECT_NEAR(count, 225, 52);  // four standard deviations
}

TEST(Corruptions, FogIsAScaledCloud) {
  const std::vector<float> x(32 * 32, 0.5F), cloudy = drawn("corruption:fog:5", {32, 32}, x);
  const auto [low, high] = std::minmax_element(cloudy.begin(), cloudy.end());  // the cloud lies between 0 and 1
  EXPECT_NEAR(*low, 0.5 * 0.5 / 2, 1e-6);
  EXPECT_NEAR(*high, 2 * 0.5 / 2, 1e-6);
}

TEST(Raster, IndicesBeyondTheBorder) {
  using perturb::Edge;
  const auto indices = [](std::int64_t n, Edge edge) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = -4; i < 7; ++i) all.push_back(perturb::inside(i, n, edge));
    return all;
  };
  EXPECT_EQ(indices(3, Edge::nearest), (std::vector<std::int64_t>{0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2}));
  EXPECT_EQ(indices(3, Edge::about_values), (std::vector<std::int64_t>{0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2}));
  EXPECT_EQ(indices(3, Edge::about_border), (std::vector<std::int64_t>{2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0}));
  EXPECT_EQ(indices(1, Edge::about_values), std::vector<std::int64_t>(11, 0));
}

// A value in the middle of four corners is their mean plus a random number, which is smaller for smaller details.
TEST(Raster, DetailsOfFractalsShrink) {
  for (const double decay : {1.5, 2.0}) {
    NoiseStream random(3, 1, 4, 1);
    const perturb::Plane map = perturb::fractal(128, 120, decay, random);
    const auto roughness = [&](std::int64_t half) {
      double sum = 0, count = 0;
      for (std::int64_t r = half; r + half < 128; r += 2 * half) {
        for (std::int64_t c = half; c + half < 120; c += 2 * half, ++count) {
          const double corners = double{map.row(r - half)[c - half]} + map.row(r - half)[c + half] + map.row(r + half)[c - half] +
                                 map.row(r + half)[c + half];
          sum += std::pow(map.row(r)[c] - corners / 4, 2);
        }
      }
      return std::sqrt(sum / count);
    };
    EXPECT_NEAR(roughness(2) / roughness(1), decay * decay, 0.1 * decay * decay);
    EXPECT_NEAR(roughness(4) / roughness(2), decay * decay, 0.15 * decay * decay);
  }
}

TEST(Raster, MotionAndEnlargement) {
  perturb::Plane plane(1, 9);
  plane.values[4] = 1;
  const perturb::Plane moved = perturb::motion_blurred(plane, 1, 1, 0);  // each pixel takes the value to its right
  const double first = 1, second = std::exp(-0.5), third = std::exp(-2.0), sum = first + second + third;
  const std::vector<double> expected = {0, 0, third / sum, second / sum, first / sum, 0, 0, 0, 0};
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(moved.values[i], expected[i], 1e-6) << i;
  for (std::size_t i = 0; i < 9; ++i) plane.values[i] = static_cast<float>(i);
  const perturb::Plane twice = perturb::enlarged(plane, 2);  // values 2 to 6 become ten, of which the last is cut off
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(twice.values[i], 2 + static_cast<double>(i) * 4 / 9, 1e-5) << i;
  perturb::Plane wide(1, 32);
  for (std::size_t i = 0; i < 32; ++i) wide.values[i] = static_cast<float>(i);
  const perturb::Plane half = perturb::enlarged(wide, 1.25);  // values 3 to 28 become 32.5, rounded to the even number
  for (std::size_t i = 0; i < 32; ++i) EXPECT_NEAR(half.values[i], 3 + static_cast<double>(i) * 25 / 31, 1e-5) << i;
  const perturb::Plane larger = perturb::enlarged(plane, 2.9);  // values 2 to 5 become twelve, of which one and two are cut off
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(larger.values[i], 2 + static_cast<double>(i + 1) * 3 / 11, 1e-5) << i;
}

}  // namespace
}  // namespace probust
