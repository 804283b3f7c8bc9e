// SPDX-License-Identifier: MIT
// Perturbations of images: compares their values with formulas and a second implementation of their sampling, and their
// derivatives with differences; tests their texts, and that results are the same whether the CPU draws them or a device runs
// them before the classifier.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "probust/autodiff/vjp.h"
#include "probust/base/error.h"
#include "probust/estimators/common.h"
#include "probust/estimators/latent.h"
#include "probust/exec/executor.h"
#include "probust/model.h"
#include "probust/ops/build.h"
#include "probust/perturb/noise_family.h"
#include "probust/perturb/noise_text.h"
#include "probust/perturb/stage.h"
#include "probust/run/run.h"
#include "support/evaluate.h"
#include "support/networks.h"
#include "support/refusal.h"
#include "support/small_images.h"

namespace probust {
namespace {

using test::random_tensor;
using test::smooth_images;
using test::some_images;

Tensor random_image(const Shape& shape, unsigned seed = 1) {
  std::mt19937 random(seed);
  return random_tensor(shape, random, 0.1F, 0.9F);
}

Noise noise_for(const std::string& text, const Shape& point) { return bound(parse_noise(text), point); }

// The sample of one point for these normals, multiplied by the noise's scale.
Tensor at_normals(const std::string& text, const Tensor& image, std::vector<float> w) {
  const Noise noise = noise_for(text, image.shape);
  Tensor moved = image;
  const std::uint32_t index = 0;
  w.resize(static_cast<std::size_t>(noise.shape->normals(image.size()).value()), 0);
  noise.shape->add_normals({&index, 1}, image.size(), static_cast<float>(noise.scale), w.data(), moved.data.data());
  return moved;
}

Tensor fixed(const std::string& text, const Tensor& image) { return at_normals(text, image, {0}); }

void expect_near(const Tensor& actual, const Tensor& expected, double tolerance, const std::string& what = {}) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::int64_t e = 0; e < actual.size(); ++e) ASSERT_NEAR(actual.data[e], expected.data[e], tolerance) << what << ", " << e;
}

// All families that are maps and have an amount that a number sets.
std::vector<std::string> map_texts() {
  std::vector<std::string> texts;
  for (const perturb::Family& family : perturb::families()) {
    if (family.map == nullptr) continue;
    const bool degrees = family.parameters[0].unit == "degrees", pixels = family.parameters[0].unit == "pixels";
    texts.push_back(std::string(family.name) + (degrees ? ":10" : pixels ? ":0.8" : ":0.2"));
  }
  return texts;
}

TEST(Perturbations, ChangeNothingAtStrengthZero) {
  for (const Shape& shape : {Shape{3, 7, 10}, Shape{1, 8, 8}, Shape{6, 9}, Shape{5, 8, 3}, Shape{1, 1, 1}, Shape{3, 1, 1}}) {
    const Tensor image = random_image(shape);
    for (const std::string& text : map_texts()) {
      const Noise noise = noise_for(text, shape);
      if (noise.shape->text(1) == noise.shape->text(2)) continue;  // the number is not a scale
      expect_near(at_normals(text, image, {}), image, 2e-6, text + " on " + to_string(shape));
    }
  }
}

TEST(Perturbations, OfAConstantImageAreConstantIfTheyOnlyMoveIt) {
  Tensor image({3, 6, 9});
  std::fill(image.data.begin(), image.data.end(), 0.4F);
  for (const char* text : {"rotate:20", "shift:2", "shift-x:1", "shift-y:1", "zoom:0.3", "shear:0.3", "motion:2", "contrast:1"})
    expect_near(at_normals(text, image, {1.3F, -0.4F}), image, 2e-6, text);
}

TEST(Perturbations, OfLightFollowTheirFormulas) {
  const Tensor image = random_image({3, 5, 4});
  double mean = 0;
  for (const float value : image.data) mean += value / static_cast<double>(image.size());
  const double z = 0.7;
  const auto expect_values = [&](const std::string& text, auto formula) {
    Tensor expected = image;
    for (float& value : expected.data) value = static_cast<float>(formula(double{value}));
    expect_near(at_normals(text, image, {static_cast<float>(z)}), expected, 2e-6, text);
  };
  expect_values("brightness:0.2", [&](double v) { return v + 0.2 * z; });
  expect_values("exposure:0.5", [&](double v) { return v * std::exp2(0.5 * z); });
  expect_values("contrast:0.3", [&](double v) { return mean + (v - mean) * std::exp(0.3 * z); });
  expect_values("gamma:0.4", [&](double v) { return std::pow(v, std::exp(0.4 * z)); });
}

TEST(Perturbations, GammaOfBlackIsBlackAndHasAFiniteDerivative) {
  Tensor image({1, 1, 1});
  for (const char* text : {"gamma:fixed(0.5)", "gamma:fixed(2)"}) EXPECT_NEAR(fixed(text, image).data[0], 0, 1e-5);
}

// Uses Keys' kernel with a = -1/2, and the nearest pixel beyond the border.
double catmull_rom(const Tensor& image, std::int64_t channel, double row, double column) {
  const auto weight = [](double distance) {
    const double x = std::fabs(distance);
    return x <= 1 ? 1.5 * x * x * x - 2.5 * x * x + 1 : x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
  };
  const std::int64_t rows = image.shape[1], columns = image.shape[2];
  double sum = 0;
  const auto top = static_cast<std::int64_t>(std::floor(row)) - 1, left = static_cast<std::int64_t>(std::floor(column)) - 1;
  for (std::int64_t i = top; i < top + 4; ++i) {
    for (std::int64_t j = left; j < left + 4; ++j) {
      const std::int64_t r = std::clamp<std::int64_t>(i, 0, rows - 1), c = std::clamp<std::int64_t>(j, 0, columns - 1);
      sum += weight(row - static_cast<double>(i)) * weight(column - static_cast<double>(j)) *
             image.data[(channel * rows + r) * columns + c];
    }
  }
  return sum;
}

// position(down, across) returns the position that a pixel reads, relative to the centre.
template <class Position>
Tensor sampled(const Tensor& image, Position position) {
  Tensor moved(image.shape);
  const double middle = static_cast<double>(image.shape[1] - 1) / 2, centre = static_cast<double>(image.shape[2] - 1) / 2;
  for (std::int64_t c = 0, e = 0; c < image.shape[0]; ++c) {
    for (std::int64_t i = 0; i < image.shape[1]; ++i) {
      for (std::int64_t j = 0; j < image.shape[2]; ++j, ++e) {
        const auto [down, across] = position(static_cast<double>(i) - middle, static_cast<double>(j) - centre);
        moved.data[e] = static_cast<float>(catmull_rom(image, c, middle + down, centre + across));
      }
    }
  }
  return moved;
}

TEST(Perturbations, OfGeometryReadWhereTheirMapSays) {
  const Tensor image = random_image({3, 9, 12});
  using Place = std::pair<double, double>;
  const double angle = 17 * std::numbers::pi / 180;
  expect_near(fixed("rotate:fixed(17)", image),
              sampled(image,
                      [&](double i, double j) {
                        return Place{std::cos(angle) * i + std::sin(angle) * j, std::cos(angle) * j - std::sin(angle) * i};
                      }),
              3e-5, "rotate");
  expect_near(at_normals("shift:1.5", image, {1, -0.4F}),
              sampled(image,
                      [](double i, double j) {
                        return Place{i + 0.6, j - 1.5};
                      }),
              3e-5, "shift");
  expect_near(fixed("shift-x:fixed(2)", image), sampled(image, [](double i, double j) { return Place{i, j - 2}; }), 1e-6);
  expect_near(fixed("shift-y:fixed(-3)", image), sampled(image, [](double i, double j) { return Place{i + 3, j}; }), 1e-6);
  expect_near(fixed("zoom:fixed(1.3)", image), sampled(image, [](double i, double j) { return Place{i / 1.3, j / 1.3}; }), 3e-5);
  expect_near(fixed("shear:fixed(0.25)", image), sampled(image, [](double i, double j) { return Place{i, j + 0.25 * i}; }), 3e-5);
}

TEST(Perturbations, RotateTurnsAgainstTheClock) {
  Tensor image({1, 3, 3});
  image.data = {0, 0, 0, 0, 0, 1, 0, 0, 0};  // right of the centre
  const Tensor turned = fixed("rotate:fixed(90)", image);
  EXPECT_NEAR(turned.data[1], 1, 1e-5) << "above the centre";
}

TEST(Perturbations, FillTheBorderAsAsked) {
  Tensor image({1, 2, 3});
  image.data = {1, 2, 3, 4, 5, 6};
  EXPECT_NEAR(fixed("shift-x:fixed(2)", image).data[0], 1, 1e-5);
  EXPECT_NEAR(fixed("shift-x:fill=0:fixed(2)", image).data[0], 0, 1e-5);
  EXPECT_NEAR(fixed("shift-x:fill=0.5:fixed(2)", image).data[0], 0.5, 1e-5);
  EXPECT_NEAR(fixed("shift-x:fill=reflect:fixed(2)", image).data[0], 3, 1e-5);
}

TEST(Perturbations, MotionAveragesAlongItsPath) {
  Tensor image({1, 1, 41});
  for (std::int64_t j = 0; j < 41; ++j) image.data[j] = static_cast<float>(j * j);
  image.shape = {1, 1, 41};
  Tensor tall({1, 3, 41});
  for (int i = 0; i < 3; ++i) std::copy_n(image.data.data(), 41, tall.data.data() + i * 41);
  // The mean of (j + t)^2 for t uniform within 4 pixels around 0 is j^2 + 16 / 12.
  EXPECT_NEAR(at_normals("motion:4", tall, {1, 0}).data[41 + 20], 400 + 16.0 / 12, 0.05);
}

TEST(Perturbations, BlurWeighsPixelsByAGaussian) {
  const Tensor image = random_image({2, 9, 12});
  const double width = 1.3;
  double sum = 0;
  const auto weight = [&](std::int64_t o) { return std::exp(-static_cast<double>(o * o) / (2 * width * width)); };
  for (std::int64_t o = -9; o <= 9; ++o) sum += weight(o);
  Tensor expected(image.shape);
  for (std::int64_t c = 0, e = 0; c < 2; ++c) {
    for (std::int64_t i = 0; i < 9; ++i) {
      for (std::int64_t j = 0; j < 12; ++j, ++e) {
        double value = 0;
        for (std::int64_t o = -9; o <= 9; ++o) {
          for (std::int64_t p = -9; p <= 9; ++p) {
            const std::int64_t row = std::clamp<std::int64_t>(i + o, 0, 8), column = std::clamp<std::int64_t>(j + p, 0, 11);
            value += weight(o) * weight(p) / (sum * sum) * image.data[(c * 9 + row) * 12 + column];
          }
        }
        expected.data[e] = static_cast<float>(value);
      }
    }
  }
  expect_near(fixed("blur:fixed(1.3)", image), expected, 3e-4);
}

TEST(Perturbations, OccludeCoversItsShareExactly) {
  Tensor image({1, 7, 10});
  std::fill(image.data.begin(), image.data.end(), 1.0F);
  for (const std::vector<float>& w : {std::vector<float>{0, 0}, std::vector<float>{-9, 9}, std::vector<float>{0.3F, -1.1F}}) {
    const Tensor covered = at_normals("occlude:0.2", image, w);
    double left = 0;
    for (const float value : covered.data) left += value;
    EXPECT_NEAR(left, 0.8 * 70, 1e-3);
  }
}

TEST(Perturbations, HaveTheDerivativesOfDifferences) {
  const Tensor image = random_image({2, 6, 7}, 4);
  for (std::string text : map_texts()) {
    for (const char* end : {"", "+gaussian:0.1"}) {
      const Noise noise = noise_for(text + end, image.shape);
      const std::shared_ptr<const NoiseMap> map = noise.shape->map();
      ASSERT_NE(map, nullptr);
      const std::vector<ValueId> inputs = map->graph.inputs();
      const Vjp backward = vjp(map->graph, map->graph.outputs, inputs);
      std::mt19937 random(3);
      const Tensor seed = random_tensor(image.shape, random), z = random_tensor({map->latents}, random, 0.2F, 0.5F);
      const Tensor slope = test::evaluate(backward.graph, {image, z, seed})[2];
      const auto value = [&](const Tensor& at) {
        const Tensor moved = test::evaluate(map->graph, {image, at})[0];
        double sum = 0;
        for (std::int64_t e = 0; e < moved.size(); ++e) sum += double{moved.data[e]} * seed.data[e];
        return sum;
      };
      for (std::int64_t k = 0; k < std::min<std::int64_t>(map->latents, 4); ++k) {
        constexpr float kStep = 2e-3F;
        Tensor low = z, high = z;
        low.data[k] -= kStep;
        high.data[k] += kStep;
        const double difference = (value(high) - value(low)) / (high.data[k] - low.data[k]);
        EXPECT_NEAR(slope.data[k], difference, 2e-2 * (1 + std::fabs(difference))) << text << end << ", latent " << k;
      }
    }
  }
}

TEST(Perturbations, DoNotDependOnHowAPointStoresItsImage) {
  const Tensor planes = random_image({3, 6, 8});
  Tensor last({6, 8, 3});
  for (std::int64_t c = 0; c < 3; ++c) {
    for (std::int64_t q = 0; q < 48; ++q) last.data[q * 3 + c] = planes.data[c * 48 + q];
  }
  for (const std::string& text : map_texts()) {
    if (text.starts_with("time-shift")) continue;  // along the last axis, whatever that is
    const Tensor a = at_normals(text, planes, {0.8F, -0.3F}), b = at_normals(text, last, {0.8F, -0.3F});
    for (std::int64_t c = 0; c < 3; ++c) {
      for (std::int64_t q = 0; q < 48; ++q) ASSERT_NEAR(b.data[q * 3 + c], a.data[c * 48 + q], 1e-6) << text;
    }
  }
}

TEST(Perturbations, UniformParametersStayInTheirRange) {
  const Tensor image = random_image({1, 4, 4});
  const auto shift = [&](float w) { return at_normals("brightness:uniform(-0.1,0.3)", image, {w}).data[0] - image.data[0]; };
  EXPECT_NEAR(shift(-9), -0.1, 1e-6);
  EXPECT_NEAR(shift(0), 0.1, 1e-6);
  EXPECT_NEAR(shift(9), 0.3, 1e-6);
  EXPECT_NEAR(shift(1), -0.1 + 0.4 * 0.841345, 1e-6);
}

TEST(Perturbations, ClipAtTheEndOfASequence) {
  const Tensor image = random_image({1, 4, 4});
  Noise noise = parse_noise("brightness:fixed(0.7)+brightness:fixed(-0.5)");
  clip_like_data(std::span(&noise, 1), [] { return DataRange{0, 1}; });
  EXPECT_EQ(noise.text(), "brightness:fixed(0.7)+brightness:fixed(-0.5)|clip:0,1");
  const Noise own = bound(noise, image.shape);
  Tensor moved = image;
  const std::uint32_t index = 0;
  const float w = 0;
  own.shape->add_normals({&index, 1}, 16, 1, &w, moved.data.data());
  for (std::int64_t e = 0; e < 16; ++e)
    EXPECT_NEAR(moved.data[e], std::min(1.0, image.data[e] + 0.2), 1e-6) << "not clipped in between";
  Noise wide = parse_noise("brightness:0.1");
  clip_like_data(std::span(&wide, 1), [] { return DataRange{0, 255}; });
  EXPECT_EQ(wide.text(), "brightness:0.1") << "the data leave [0, 1]";
  Noise additive = parse_noise("gaussian:0.1");
  clip_like_data(std::span(&additive, 1), []() -> DataRange { throw std::logic_error("not needed"); });
  EXPECT_EQ(additive.text(), "gaussian:0.1");
}

TEST(Perturbations, HaveTextsThatParseToThemselves) {
  for (const char* text : {"rotate:10", "rotate:fill=reflect:10", "rotate:uniform(-30,30)", "rotate:fixed(10)", "occlude:0.1",
                           "rotate:5+gaussian:0.05", "gaussian:0.05+zoom:0.1+exposure:1", "occlude:uniform(0.1,0.3)"})
    EXPECT_EQ(parse_noise(text).text(), text);
  EXPECT_EQ(parse_noise("rotate:10:fill=reflect").text(), "rotate:fill=reflect:10");
  EXPECT_TRUE(parse_noise("rotate:10").sigma().has_value());
  EXPECT_FALSE(parse_noise("rotate:uniform(-1,1)").sigma().has_value());
  EXPECT_FALSE(parse_noise("occlude:0.1").sigma().has_value());
}

std::string refused(const std::string& text, const Shape& point = {3, 8, 8}) {
  return test::message_of([&] { (void)bound(parse_noise(text), point); });
}

TEST(Perturbations, RefuseWhatTheyCannotBe) {
  EXPECT_NE(refused("rotate:-3").find("positive number"), std::string::npos);
  EXPECT_NE(refused("rotate").find("positive number"), std::string::npos) << refused("rotate");
  EXPECT_NE(refused("rotate:uniform(3,1)").find("increasing"), std::string::npos);
  EXPECT_NE(refused("rotate:fixed(a)").find("positive number"), std::string::npos);
  EXPECT_NE(refused("occlude:1.5").find("outside 0 to 1"), std::string::npos);
  EXPECT_NE(refused("brightness:fill=0:0.1").find("leaves no pixels to fill"), std::string::npos);
  EXPECT_NE(refused("rotate:fill=blue:3").find("blue"), std::string::npos);
  EXPECT_NE(refused("rotate:3:4").find("unknown part '4'"), std::string::npos);
  for (const Shape& table : {Shape{16}, Shape{784, 1}, Shape{1, 784}, Shape{13, 1, 1}, Shape{3, 2, 8, 8}})
    EXPECT_NE(refused("rotate:3", table).find("needs images"), std::string::npos) << to_string(table);
}

// The p of each row for a counting estimator.
std::vector<double> counted(Executor& executor, const Tensor& x, const Noise& noise, const std::string& estimator) {
  EstimateRequest request;
  request.x = x;
  request.noises = {noise};
  request.estimators = {parse_estimator(estimator)};
  EstimateRun run(executor, std::move(request));
  run.finish();
  std::vector<double> p;
  for (const Row& row : run.rows()) p.push_back(row.estimate.p);
  return p;
}

TEST(Perturbations, AreTheSameDrawnOnTheProcessorAndRunBeforeTheClassifier) {
  const auto executor = make_executor("cpu", test::small_cnn(), {.threads = 2}).value();
  const Tensor x = some_images(3);
  const Points points = points_of(x, predicted_classes(executor->logits(x).value()), 0, 7);
  for (std::string text : map_texts()) {
    for (const char* end : {"", "+gaussian:0.1"}) {
      const Noise noise = noise_for(text + end, {1, 8, 8});
      const auto drawn = executor->sample(points, noise, 500).value();
      const auto latent = latent_problem(*executor, points, noise);
      ASSERT_TRUE(latent.has_value());
      const auto run = latent->executor.sample(latent->points, latent->noise, 500).value();
      for (std::size_t i = 0; i < drawn.size(); ++i) {
        for (std::size_t c = 0; c < drawn[i].size(); ++c)  // a sample near a boundary may differ by rounding
          EXPECT_NEAR(static_cast<double>(drawn[i][c]), static_cast<double>(run[i][c]), 1) << text << end;
      }
    }
  }
}

// Tests smooth images and noise, in which margins change much faster. The margins under `occlude` have a kink wherever the patch
// crosses a pixel, so that a grid alone is too coarse.
TEST(Perturbations, QuadratureAgreesWithCounting) {
  std::vector<std::string> texts = map_texts();
  texts.insert(texts.end(), {"occlude:0.05", "occlude:0.5", "rotate:uniform(-40,40)"});
  for (const unsigned seed : {1U, 2U, 3U}) {
    const auto executor = make_executor("cpu", test::small_cnn(4, seed), {.threads = 2}).value();
    for (const Tensor& x : {smooth_images(3, seed), some_images(2, seed)}) {
      for (const std::string& text : texts) {
        const Noise noise = parse_noise(text);
        const auto exact = counted(*executor, x, noise, "quadrature:64"), samples = counted(*executor, x, noise, "mc:20000");
        for (std::size_t i = 0; i < exact.size(); ++i) {
          const double error = std::sqrt(std::max(exact[i] * (1 - exact[i]), 1.0 / 20000) / 20000);
          EXPECT_NEAR(exact[i], samples[i], 4 * error) << text << ", network " << seed;
        }
      }
    }
  }
}

TEST(Perturbations, AreTheSameForAnyThreadsAndSteps) {
  const Tensor x = some_images(5);
  const Noise noise = parse_noise("rotate:20+gaussian:0.2");
  const auto one = make_executor("cpu", test::small_cnn(), {.threads = 1}).value();
  const auto three = make_executor("cpu", test::small_cnn(), {.threads = 3, .memory = 1 << 19, .batch = 5}).value();
  for (const char* estimator : {"mc:300", "probit:24", "taylor", "mmse:5"}) {
    const std::vector<double> expected = counted(*one, x, noise, estimator);
    EXPECT_EQ(counted(*three, x, noise, estimator), expected) << estimator;
    EstimateRequest request;
    request.x = x;
    request.noises = {noise};
    request.estimators = {parse_estimator(estimator)};
    EstimateRun run(*one, std::move(request));
    int steps = 0;
    while (!run.step(0)) ++steps;
    EXPECT_GT(steps, 1);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(run.rows()[i].estimate.p, expected[i]) << estimator;
  }
}

TEST(Perturbations, ThatAreFixedAreAnsweredExactlyByOnePass) {
  const auto executor = make_executor("cpu", test::small_cnn(), {.threads = 2}).value();
  EstimateRequest request;
  request.x = some_images(6);
  request.noises = {parse_noise("rotate:fixed(40)"), parse_noise("jpeg:5")};
  request.estimators = {parse_estimator("mc:100"), parse_estimator("taylor")};
  EstimateRun run(*executor, std::move(request));
  run.finish();
  double sum = 0;
  for (const Row& row : run.rows()) {
    EXPECT_TRUE(row.estimate.p == 0 || row.estimate.p == 1);
    EXPECT_EQ(row.estimate.p_fail, 1 - row.estimate.p);
    EXPECT_EQ(row.estimate.forwards, 1);
    EXPECT_EQ(row.estimate.status, Status::ok);
    sum += row.estimate.p;
  }
  EXPECT_GT(sum, 0);
  EXPECT_LT(sum, static_cast<double>(run.rows().size()));
}

TEST(Perturbations, WithoutAnEffectOfFirstOrderAreNotLinearised) {
  const auto executor = make_executor("cpu", test::small_cnn(), {.threads = 2}).value();
  for (const char* text : {"blur:1", "motion:2", "brightness:0.1+blur:1"}) {
    EstimateRequest request;
    request.x = some_images(2);
    request.noises = {parse_noise(text)};
    request.estimators = {parse_estimator("taylor")};
    EstimateRun run(*executor, std::move(request));
    run.finish();
    EXPECT_EQ(run.rows()[0].estimate.status, Status::degenerate) << text;
    EXPECT_TRUE(std::isnan(run.rows()[0].estimate.p)) << text;
  }
}

TEST(Perturbations, OfModelsWithoutAGraphCanBeCounted) {
  const auto executor = make_executor("cpu", test::small_cnn(), {.threads = 1}).value();
  LoadedModel model = model_from_function({.logits = [&](const Tensor& x) { return executor->logits(x).value(); }}, {1, 8, 8}, 4);
  const Tensor x = some_images(2);
  const auto expected = counted(*executor, x, parse_noise("rotate:20"), "mc:400");
  EXPECT_EQ(counted(model.executor(), x, parse_noise("rotate:20"), "mc:400"), expected);
}

// x + W z, as a graph and as a function.
NoiseSource decoders(const Tensor& weights) {
  NoiseSource source;
  source.perturbation = [weights](const std::string& name) {
    const std::int64_t k = weights.shape[0], d = weights.shape[1];
    OwnPerturbation own{.latents = k};
    if (name == "function") {
      own.function = [weights, k, d](Tensor x, Tensor z) {
        for (std::int64_t i = 0; i < z.shape[0]; ++i) {
          for (std::int64_t e = 0; e < d; ++e) {
            for (std::int64_t j = 0; j < k; ++j) x.data[i * d + e] += z.data[i * k + j] * weights.data[j * d + e];
          }
        }
        return x;
      };
      return own;
    }
    Graph g;
    const ValueId x = append_input(g, {1, d}, Extent::example, "x"), z = append_input(g, {1, k}, Extent::example, "z");
    g.outputs = {build::add(g, x, build::matmul(g, z, append_constant(g, weights)))};
    own.graph = std::make_shared<const Graph>(std::move(g));
    return own;
  };
  return source;
}

TEST(OwnPerturbations, AreAnsweredLikeTheNoiseThatTheyEqual) {
  std::mt19937 random(2);
  const Tensor weights = random_tensor({4, 64}, random, -0.2F, 0.2F), x = some_images(3);
  NoiseArray factors{{64, 4}, std::vector<double>(256), "W"};
  for (std::int64_t j = 0; j < 4; ++j) {
    for (std::int64_t e = 0; e < 64; ++e) factors.values[e * 4 + j] = weights.data[j * 64 + e];
  }
  const Noise equal{factor_gaussian(factors, "factor"), 1.5};
  const NoiseSource source = decoders(weights);
  const Noise graph = parse_noise("transform:decoder.onnx:1.5", source), function = parse_noise("transform:function:1.5", source);
  EXPECT_EQ(graph.text(), "transform:decoder.onnx:1.5");
  EXPECT_EQ(parse_noise("transform:decoder.onnx", source).text(), "transform:decoder.onnx:1");
  const auto executor = make_executor("cpu", test::small_cnn(), {.threads = 2}).value();
  for (const char* estimator : {"mc:20000", "taylor", "subset:2000"}) {
    const auto expected = counted(*executor, x, equal, estimator), own = counted(*executor, x, graph, estimator);
    for (std::size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(own[i], expected[i], 0.02) << estimator;
  }
  const auto own = counted(*executor, x, graph, "mc:2000"), called = counted(*executor, x, function, "mc:2000");
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(own[i], called[i], 1e-3);
}

TEST(OwnPerturbations, HaveTheirScaleOnceIfTheyAreClipped) {
  std::mt19937 random(2);
  const NoiseSource source = decoders(random_tensor({4, 64}, random, -0.2F, 0.2F));
  const Tensor image = random_image({1, 8, 8});
  const auto moved = [&](const std::string& text) {
    Noise noise = parse_noise(text, source);
    noise.shape = clipped(noise.shape, {0, 1, 0});
    noise = bound(std::move(noise), image.shape);
    EXPECT_EQ(noise.shape->normals(64), 4) << "none of clipping";
    Tensor x = image;
    const std::uint32_t index = 0;
    const std::vector<float> w = {1, -0.5F, 0.3F, 2};
    noise.shape->add_normals({&index, 1}, 64, static_cast<float>(noise.scale), w.data(), x.data.data());
    return x;
  };
  expect_near(moved("transform:function:0.5"), moved("transform:decoder.onnx:0.5"), 1e-5);
  expect_near(moved("transform:function:2"), moved("transform:decoder.onnx:2"), 1e-5);
}

TEST(OwnPerturbations, OfTablesNeedNoImages) {
  const NoiseSource source = decoders(Tensor({2, 5}));
  EXPECT_NO_THROW((void)bound(parse_noise("transform:decoder.onnx", source), {5}));
  EXPECT_THROW((void)bound(parse_noise("transform:decoder.onnx", source), {6}), Error) << "another number of columns";
  EXPECT_THROW((void)parse_noise("transform:", source), Error);
  EXPECT_THROW((void)parse_noise("transform:decoder.onnx:-1", source), Error);
  EXPECT_THROW((void)parse_noise("transform:decoder.onnx"), Error) << "no files here";
}

// ---- texts of rows

TEST(NoiseOfRows, IsTheSameNoise) {
  const Shape point{1, 8, 8};
  const Tensor image = random_image(point);
  for (const char* text : {"rotate:10", "rotate:10|clip:0,1", "gaussian:0.5|clip:0.25,0.75|levels:4",
                           "jpeg:uniform(10,90)|clip:0,1", "exposure:1+gaussian:0.05|clip:0,1", "gaussian:0.1@0..3"}) {
    const Noise noise = bound(parse_noise_of_row(text), point);
    EXPECT_EQ(noise.text(), text);
    Tensor x = image;
    const std::uint32_t zero = 0;
    noise.shape->add({3, {&zero, 1}, {&zero, 1}}, image.size(), static_cast<float>(noise.scale), x.data.data());
    EXPECT_NE(x.data, image.data) << text;
    if (!std::string(text).starts_with("gaussian:0.5")) continue;
    for (const float value : x.data) EXPECT_NEAR(std::remainder(value - 0.25F, 0.5F / 3), 0, 1e-5) << value;
  }
  for (const char* text :
       {"rotate:10|clip:0", "rotate:10|clip:a,1", "rotate:10|clip:0,1|levels:x", "rotate:10|clip:0,1|levels:4|x:1"})
    EXPECT_NE(test::message_of([&] { (void)parse_noise_of_row(text); }).find(" range"), std::string::npos) << text;
}

TEST(NoiseOfRows, HasAFamily) {
  const auto expect = [](const std::string& text, const std::string& name, const std::string& number, bool perturbs) {
    const NoiseFamily family = family_of_noise(text);
    EXPECT_EQ(family.name, name) << text;
    EXPECT_EQ(family.number, number) << text;
    EXPECT_EQ(family.perturbs, perturbs) << text;
  };
  expect("rotate:10|clip:0,1", "rotate", "10", true);
  expect("rotate:fill=0:uniform(-30,30)", "rotate", "fill=0:uniform(-30,30)", true);
  expect("corruption:fog:3|clip:0,1", "corruption:fog", "3", true);
  expect("rotate:5+gaussian:0.05|clip:0,1", "rotate + gaussian", "5 + 0.05", true);
  expect("transform:a/b.onnx:0.5", "transform:a/b.onnx", "0.5", true);
  expect("transform:a/b.onnx", "transform:a/b.onnx", "", true);
  expect("gaussian:0.1@0..3", "gaussian", "0.1@0..3", false);
  expect("unheard:of", "unheard", "of", false);
  expect("corruption:unheard:3", "corruption", "unheard:3", false);
  EXPECT_EQ(family_of_noise("rotate:5").summary, "turns the image about its centre");
  EXPECT_EQ(family_of_noise("rotate:5+gaussian:1").summary,
            "turns the image about its centre, then " + family_of_noise("gaussian:1").summary);
  EXPECT_EQ(family_of_noise("rotate:5+transform:a.onnx").summary, "");
}

TEST(NoiseMaps, ListTheirUniformParameters) {
  const auto uniform = [](const std::string& text) { return noise_for(text, {1, 8, 8}).shape->map()->uniform; };
  EXPECT_EQ(uniform("rotate:10"), std::vector<std::int64_t>{});
  EXPECT_EQ(uniform("rotate:uniform(-10,10)"), std::vector<std::int64_t>{0});
  EXPECT_EQ(uniform("occlude:0.1"), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(uniform("rotate:10+exposure:uniform(-1,1)"), std::vector<std::int64_t>{1});
}

}  // namespace
}  // namespace probust
