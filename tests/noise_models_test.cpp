// SPDX-License-Identifier: MIT
// Noise models on values: the arithmetic of draws, noise that depends on the data, factors as maps, codes, and ranges of columns.
// native/python/tests/test_noise.py compares all distributions with NumPy.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "probust/base/error.h"
#include "probust/estimators/estimator.h"
#include "probust/noise/draw_math.h"
#include "probust/noise/noise.h"
#include "probust/perturb/noise_text.h"
#include "support/networks.h"

namespace probust {
namespace {

// A noisy sample of x.
std::vector<float> noisy(const NoiseShape& shape, std::vector<float> x, std::uint32_t sample = 0, float scale = 1,
                         std::uint32_t point = 0) {
  shape.add({5, {&point, 1}, {&sample, 1}}, std::ssize(x), scale, x.data());
  return x;
}

std::string refusal_of(const auto& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(DrawMath, ExponentialAndStudentFollowTheirFormulas) {
  for (double x = -80; x < 80; x += 0.0371)
    EXPECT_NEAR(draws::exponential(static_cast<float>(x)) / std::exp(static_cast<double>(static_cast<float>(x))), 1, 4e-7) << x;
  for (const float freedom : {1.0F, 2.5F, 30.0F}) {
    for (const std::uint32_t word : {0U, 1U, 1000U, 1U << 30U, 3000000000U, 4294960000U}) {
      const double u = (word + 0.5) / 4294967296.0, size = std::sqrt(freedom * std::expm1(-2 / freedom * std::log(u)));
      const float drawn = draws::student_draw(word, 0x20000000U, freedom);  // the middle of the first quadrant: the angle is 0
      EXPECT_NEAR(drawn / size, 1, 3e-6 + 1e-7 / (1 - u)) << word << " " << freedom;
    }
  }
}

TEST(NoiseModels, DeviationsInTheBallAndOnTheSphereHaveTheirLength) {
  for (std::uint32_t sample = 0; sample < 200; ++sample) {
    const auto length = [&](const NoiseShape& shape) {
      double sum = 0;
      for (const float value : noisy(shape, std::vector<float>(5, 0.0F), sample, 2)) sum += double{value} * value;
      return std::sqrt(sum);
    };
    EXPECT_NEAR(length(*sphere_noise()), 2, 1e-5);
    EXPECT_LE(length(*ball_noise()), 2);
  }
}

TEST(NoiseModels, TheScalePerRootOfTheElementsIsThatOfTheColumns) {
  const auto all = parse_noise("gaussian:2/sqrt(d)"), some = parse_noise("gaussian:2/sqrt(d)@0..3");
  const auto plain = noisy(*isotropic_gaussian(), std::vector<float>(16, 0.0F), 3, 2);
  const auto divided = noisy(*all.shape, std::vector<float>(16, 0.0F), 3, static_cast<float>(all.scale));
  const auto columns = noisy(*some.shape, std::vector<float>(16, 0.0F), 3, static_cast<float>(some.scale));
  for (std::size_t e = 0; e < 16; ++e) {
    EXPECT_FLOAT_EQ(divided[e], plain[e] / 4);
    EXPECT_FLOAT_EQ(columns[e], e < 4 ? plain[e] / 2 : 0);
  }
  EXPECT_EQ(all.sigma(), 2);
  EXPECT_FALSE(all.shape->in_data_units());
}

TEST(NoiseModels, NoiseGetsTheDataOfItsColumnsOnce) {
  std::vector<Noise> noises{parse_noise("missing:1=mean@1,2"), parse_noise("gaussian:1"),
                            parse_noise("resample:1@0+missing:1=mean@1")};
  int asked = 0;
  use_data(noises, [&] {
    ++asked;
    return Tensor({2, 3}, {1, 2, 3, 1, 4, 7});
  });
  EXPECT_EQ(asked, 1);
  noises[0].shape->fit(3, 1);
  EXPECT_EQ(noisy(*noises[0].shape, {9, 9, 9}), (std::vector<float>{9, 3, 5}));
  const Noise sequence = bound(noises[2], {3});
  EXPECT_EQ(noisy(*sequence.shape, {9, 9, 9}), (std::vector<float>{1, 3, 9}));
  const auto refused = [](const std::string& text) { return refusal_of([&] { parse_noise(text).shape->fit(3, 1); }); };
  EXPECT_EQ(refused("resample:0.5"), "noise 'resample:0.5' needs the data, but was given none; give data with points");
  EXPECT_NE(refused("data-covariance:1"), "");
  const auto of_three = missing_noise(1, {})->with_data(Tensor({1, 3}, {1, 2, 3}));
  EXPECT_NE(refusal_of([&] { of_three->fit(4, 1); }).find("have 3 elements, but these points have 4"), std::string::npos);
}

TEST(NoiseModels, OfLargeDataNoiseGetsEvenlySpreadPoints) {
  EXPECT_EQ(positions_for_noise(3, 10), (std::vector<std::int64_t>{0, 1, 2}));
  const auto positions = positions_for_noise(100, kMostDataValues / 4);
  EXPECT_EQ(positions, (std::vector<std::int64_t>{0, 25, 50, 75}));
}

TEST(NoiseModels, TheCovarianceOfTheDataHasUnitTrace) {
  const Tensor data({3, 2}, {0, 0, 1, 2, 2, -2});
  const auto variances = [&](bool unit_trace) {
    std::array<float, 2> variance{1, 1};
    const std::uint32_t point = 0;
    data_covariance(unit_trace)->with_data(data)->variances({&point, 1}, 2, variance.data());
    return variance;
  };
  EXPECT_NEAR(variances(false)[0], 1, 1e-5);
  EXPECT_NEAR(variances(false)[1], 4, 1e-5);
  EXPECT_NEAR(variances(true)[0], 0.2, 1e-6);
  EXPECT_NEAR(variances(true)[1], 0.8, 1e-6);
  EXPECT_NE(refusal_of([&] {
              data_covariance(false)->with_data(Tensor({2, 1}, {1, 1}));
            }).find("data that vary"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] { data_covariance(false)->with_data(Tensor({2, 1}, {1, NAN})); }).find("missing"), std::string::npos);
}

// Factors and drifts run as a graph in front of the model, so that Gaussian estimators are exact for a linear model.
TEST(NoiseModels, FactorsAndDriftsAreMaps) {
  const Tensor weights({2, 3}, {1, 0, -1, -1, 1, 0.5F}), bias({2}, {0.2F, 0});
  const auto executor = make_executor("cpu", test::linear_classifier(weights, bias), {}).value();
  const Points points{Tensor({2, 3}, {0.4F, 0.1F, -0.3F, 0.9F, 0.7F, 0.4F}), {0, 1}, {0, 0}, 0};
  NoiseSource source;
  source.array = [](const std::string&) { return NoiseArray{{3}, {0.1, -0.2, 0}, "m"}; };
  for (const char* text : {"speckle:0.5", "gain:0.5", "speckle:0.5@0,2", "drift:m+gaussian:0.3", "gain:0.4+gaussian:0.2@1",
                           "drift:m+speckle:0.4+gaussian:0.1"}) {
    Evaluation evaluation(*executor, points, executor->logits(points.x).value());
    const Noise noise = bound(parse_noise(text, source), {3});
    ASSERT_NE(noise.shape->map(), nullptr) << text;
    const auto exact = estimate(evaluation, noise, parse_estimator("taylor")).value();
    const auto sampled = estimate(evaluation, noise, parse_estimator("mc:100000")).value();
    const bool linear = std::string(text).find("speckle:0.4+") == std::string::npos;
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(exact[i].status, Status::ok) << text;
      EXPECT_NEAR(exact[i].p, sampled[i].p, linear ? 4 * *sampled[i].std_error + 1e-5 : 0.02) << text << " point " << i;
    }
    // Drawn without the graph, samples are the same.
    const auto x = noisy(*noise.shape, {0.4F, 0.1F, -0.3F}, 7, static_cast<float>(noise.scale));
    EXPECT_EQ(x.size(), 3U);
  }
}

TEST(NoiseModels, ADriftOfEachPointAndValuesThatAreReplacedAreSampled) {
  NoiseSource source;
  source.array = [](const std::string&) { return NoiseArray{{2, 2}, {1, 2, 30, 40}, "m"}; };
  const Noise drift = bound(parse_noise("drift:m+missing:1=5@0", source), {2});
  EXPECT_EQ(drift.shape->map(), nullptr);
  EXPECT_TRUE(drift.shape->differs());
  EXPECT_EQ(noisy(*drift.shape, {0, 0}, 3, 1, 0), (std::vector<float>{5, 2}));
  EXPECT_EQ(noisy(*drift.shape, {0, 0}, 3, 1, 1), (std::vector<float>{5, 40}));
  EXPECT_EQ(drift.shape->gaussian().kind, GaussianView::Kind::absent);
  EXPECT_NE(refusal_of([&] { drift.shape->fit(2, 3); }).find("2 points"), std::string::npos);
  EXPECT_NE(refusal_of([&] { bound(parse_noise("drift:m@0+gaussian:1", source), {2}).shape->fit(2, 2); }).find("2 elements"),
            std::string::npos);
}

// Additive noise of the wrong size in a sequence that is one map.
TEST(NoiseModels, SequencesCheckTheirFiles) {
  NoiseSource source;
  source.array = [](const std::string&) { return NoiseArray{{2}, {1, 2}, "s.npy"}; };
  const std::string refused =
      refusal_of([&] { bound(parse_noise("gain:0.1+gaussian:std=s.npy", source), {5}).shape->fit(5, 1); });
  EXPECT_NE(refused.find("is for points of 2 elements"), std::string::npos) << refused;
}

TEST(NoiseModels, CodesChangeTogetherWithNumbers) {
  const Category category{{1}, {0, 1, 0, 0, 0, 1, 1, 0, 0}, {3, 5, 9}, {{2, {0, 10, 0, 0, 0, -1, 7, 0, 0}}}};
  const auto shape = categorical_noise({category}, "J");
  EXPECT_EQ(noisy(*shape, {8, 3, 1}), (std::vector<float>{8, 5, 11}));
  EXPECT_EQ(noisy(*shape, {8, 5.9F, 1}), (std::vector<float>{8, 9, 0}));  // the nearest code is 5
  EXPECT_EQ(noisy(*shape, {8, 9, 1}), (std::vector<float>{8, 3, 8}));
  EXPECT_EQ(shape->columns(3), (std::vector<std::int64_t>{1, 2}));
  EXPECT_NE(refusal_of([&] { shape->fit(2, 1); }).find("column 2, which does not exist"), std::string::npos);
}

TEST(NoiseModels, ColumnsAreClippedToTheirRanges) {
  const auto shape = clipped(parse_noise("gaussian:1").shape, parse_ranges("0,1@0+-5,1e+1@2,3", 0, "--clip"));
  EXPECT_EQ(shape->text(2), "gaussian:2|clip:0,1@0+-5,10@2..3");
  EXPECT_EQ(parse_noise_of_row(shape->text(2)).text(), shape->text(2));
  const auto x = noisy(*shape, {0.5F, 0.5F, 2, -4}, 1, 1000);
  EXPECT_TRUE(x[0] == 0 || x[0] == 1);
  EXPECT_GT(std::fabs(x[1]), 20);
  for (const std::size_t e : {2U, 3U}) EXPECT_TRUE(x[e] == -5 || x[e] == 10);
  EXPECT_FALSE(shape->by_element());
  const auto refused = [](const std::string& text) {
    return refusal_of([&] { clipped(isotropic_gaussian(), parse_ranges(text, 0, "--clip"))->fit(3, 1); });
  };
  EXPECT_EQ(refused("0,1@0..1+0,2@2"), "");
  EXPECT_NE(refused("0,1@0..1+0,2@1").find("has column 1 twice"), std::string::npos);
  EXPECT_NE(refused("0,1@3").find("has column 3, which does not exist"), std::string::npos);
  EXPECT_EQ(refused("0;1"), "--clip has '0;1', which is not a range; try 0,1 or 0,1@0..3+0,9@4");
  EXPECT_NE(refused("2,1@0").find("cannot be 2,1"), std::string::npos);
}

}  // namespace
}  // namespace probust
