// SPDX-License-Identifier: MIT
// Perturbations that are ONNX models of x and z: the distribution of z from the model's metadata, and the errors for invalid
// models.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "probust/exec/executor.h"
#include "probust/perturb/noise_text.h"
#include "probust/perturb/transform_model.h"
#include "probust/run/run.h"
#include "support/networks.h"
#include "support/onnx_builder.h"
#include "support/refusal.h"

namespace probust {
namespace {

using test::OnnxBuilder;

// A model of x + z, where z has one value for each value of x, or one for all.
std::string sum_of(const Shape& x, const Shape& z, const std::string& distribution = {}) {
  OnnxBuilder builder;
  builder.input("x", x).input("z", z).node("Add", {"x", "z"}, {"y"}).output("y", x);
  if (!distribution.empty()) builder.metadata("probust.z", distribution);
  return builder.bytes();
}

NoiseSource source_of(const std::string& model) {
  NoiseSource source;
  source.perturbation = [model](const std::string& name) { return transform_model(std::as_bytes(std::span(model)), name); };
  return source;
}

Noise sum_noise(const std::string& text, const Shape& x, const Shape& z, const std::string& distribution) {
  return parse_noise(text, source_of(sum_of(x, z, distribution)));
}

// The values that the noise with the normals w adds to a point of zeros.
std::vector<float> added(const Noise& noise, const std::vector<float>& w, std::size_t elements) {
  const Noise own = bound(noise, {static_cast<std::int64_t>(elements)});
  std::vector<float> x(elements, 0.0F);
  const std::uint32_t index = 0;
  own.shape->add_normals({&index, 1}, std::ssize(x), static_cast<float>(own.scale), w.data(), x.data());
  return x;
}

double uniform_at(double w, double low, double high) { return low + (high - low) * std::erfc(-w / std::numbers::sqrt2) / 2; }

TEST(TransformModels, HaveStandardNormalsTimesTheScale) {
  for (const char* distribution : {"", "normal", "normal, normal,normal"}) {
    const Noise noise = sum_noise("transform:sum.onnx:0.5", {-1, 3}, {-1, 3}, distribution);
    EXPECT_EQ(noise.text(), "transform:sum.onnx:0.5");
    EXPECT_EQ(added(noise, {1, -2, 0.25F}, 3), (std::vector<float>{0.5F, -1, 0.125F})) << distribution;
  }
}

TEST(TransformModels, HaveTheDistributionsOfTheirMetadata) {
  const Noise one = sum_noise("transform:sum.onnx", {-1, 3}, {-1, 3}, "uniform(-1,3)");
  EXPECT_EQ(one.text(), "transform:sum.onnx") << "no scale";
  EXPECT_EQ(one.sigma(), std::nullopt);
  const Noise each = sum_noise("transform:sum.onnx", {-1, 3}, {-1, 3}, "uniform(0, 1), normal, uniform(-2,-1.5)");
  for (const float w : {-2.0F, -0.3F, 0.0F, 1.0F, 6.0F}) {
    const std::vector<float> all = added(one, {w, 0, w}, 3), own = added(each, {w, w, w}, 3);
    EXPECT_NEAR(all[0], uniform_at(w, -1, 3), 1e-6);
    EXPECT_NEAR(all[1], 1, 1e-6);
    EXPECT_NEAR(own[0], uniform_at(w, 0, 1), 1e-6);
    EXPECT_NEAR(own[1], w, 1e-6);
    EXPECT_NEAR(own[2], uniform_at(w, -2, -1.5), 1e-6);
  }
  EXPECT_EQ(bound(each, {3}).shape->map()->uniform, (std::vector<std::int64_t>{0, 2}));
}

TEST(TransformModels, AreClippedAndFollowedLikeOtherNoise) {
  const NoiseSource source = source_of(sum_of({-1, 3}, {-1, 1}, "uniform(2,3)"));
  Noise noise = parse_noise("transform:sum.onnx+uniform:0.5", source);
  std::vector<Noise> noises = {noise};
  clip_like_data(noises, [] { return DataRange{0, 1}; });
  EXPECT_EQ(noises[0].text(), "transform:sum.onnx+uniform:0.5|clip:0,1");
  EXPECT_EQ(added(noises[0], {0, 0, 0, 0}, 3), (std::vector<float>{1, 1, 1}));
}

TEST(TransformModels, GiveTheSameAsTheFamilyThatTheyWriteOut) {
  const auto executor = make_executor("cpu", test::small_cnn(), {.threads = 2}).value();
  std::mt19937 random(3);
  EstimateRequest request;
  request.x = test::random_tensor({4, 1, 8, 8}, random);
  request.noises = {sum_noise("transform:sum.onnx", {-1, 1, 8, 8}, {-1, 1, 1, 1}, "uniform(-3,3)"),
                    parse_noise("brightness:uniform(-3,3)")};
  for (const char* text : {"mc:1000", "quadrature:64", "subset:1000"}) request.estimators.push_back(parse_estimator(text));
  EstimateRun run(*executor, request);
  run.finish();
  const std::size_t questions = request.estimators.size();
  bool uncertain = false;
  for (std::size_t i = 0; i < run.rows().size(); i += 2 * questions) {
    for (std::size_t k = 0; k < questions; ++k) {
      const Row &own = run.rows()[i + k], &family = run.rows()[i + questions + k];
      ASSERT_EQ(own.estimator, family.estimator);
      EXPECT_NEAR(own.estimate.p, family.estimate.p, 1e-3) << own.estimator;
      uncertain = uncertain || (own.estimate.p > 0.01 && own.estimate.p < 0.99);
    }
  }
  EXPECT_TRUE(uncertain);
}

TEST(TransformModels, AreRefusedInOneLineThatNamesThem) {
  for (const char* distribution : {"gamma(1,2)", "uniform(1)", "uniform(2,1)", "uniform(0,inf)", "uniform", "", "normal,normal",
                                   "normal;normal", "normal,normal,normal,normal", "uniform(0,1),,normal", "normal(2)"}) {
    std::string model = sum_of({-1, 3}, {-1, 3});
    if (*distribution != 0) model = sum_of({-1, 3}, {-1, 3}, distribution);
    const std::string message = test::message_of([&] { (void)parse_noise("transform:sum.onnx", source_of(model)); });
    if (*distribution == 0) {
      EXPECT_EQ(message, "");
      continue;
    }
    EXPECT_TRUE(message.starts_with("sum.onnx has ")) << distribution << ": " << message;
    EXPECT_NE(message.find("probust.z"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
  const std::string scaled = test::message_of([] { (void)sum_noise("transform:sum.onnx:2", {-1, 3}, {-1, 3}, "uniform(0,1)"); });
  EXPECT_EQ(scaled,
            "noise 'transform:sum.onnx:2' has a scale, but its model specifies the distribution of z; leave out the scale: "
            "transform:sum.onnx");
}

TEST(TransformModels, NeedXAndZ) {
  const std::string one = OnnxBuilder().input("x", {-1, 3}).node("Relu", {"x"}, {"y"}).output("y", {-1, 3}).bytes();
  const std::string other =
      OnnxBuilder().input("z", {-1, 3}).input("x", {-1, 3}).node("Add", {"x", "z"}, {"y"}).output("y").bytes();
  for (const std::string& model : {one, other, std::string("no model")}) {
    const std::string message = test::message_of([&] { (void)parse_noise("transform:sum.onnx", source_of(model)); });
    EXPECT_TRUE(message.starts_with("sum.onnx ")) << message;
  }
}

}  // namespace
}  // namespace probust
