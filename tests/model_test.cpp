// SPDX-License-Identifier: MIT
// The public interface: load_model and LoadedModel.
#include "probust/model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "probust/normal/univariate.h"
#include "support/onnx_builder.h"

namespace probust {
namespace {

// Logits x0, -x0, x1 - 100.
LoadedModel loaded(const LoadOptions& options = {}) {
  test::OnnxBuilder onnx;
  onnx.input("x", {1, 2}).initializer(test::encode_tensor(Tensor({2, 3}, {1, -1, 0, 0, 0, 1}), "w"));
  onnx.initializer(test::encode_tensor(Tensor({3}, {0, 0, -100}), "b"));
  onnx.node("Gemm", {"x", "w", "b"}, {"y"}).output("y");
  const std::string bytes = onnx.bytes();
  return load_model(std::as_bytes(std::span(bytes)), options);
}

TEST(LoadedModel, EstimatesOnePointOrMany) {
  LoadedModel model = loaded();
  EXPECT_EQ(model.classes(), 3);
  EXPECT_EQ(model.point_shape(), Shape{2});
  const std::vector<Row> one = model.estimate(Tensor({2}, {0.5F, 0}), {"gaussian:0.5"}, {"taylor"});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].predicted, 0);
  EXPECT_NEAR(one[0].estimate.p, normal::cdf(1.0), 1e-6);  // margin x0 - (-x0) = 1, divided by the deviation 2 * 0.5

  const std::vector<Row> many =
      model.estimate(Tensor({2, 2}, {0.5F, 0, -1, 0}), {"gaussian:0.5", "gaussian:1"}, {"taylor", "mc:2000"});
  ASSERT_EQ(many.size(), 8U);
  for (std::size_t i = 0; i < many.size(); ++i) {
    EXPECT_EQ(many[i].index, static_cast<std::int64_t>(i / 4));
    EXPECT_EQ(many[i].sigma, (i / 2) % 2 == 0 ? 0.5 : 1.0);
    EXPECT_EQ(many[i].estimator, i % 2 == 0 ? "taylor" : "mc:2000");
    EXPECT_EQ(many[i].predicted, i < 4 ? 0 : 1);
    EXPECT_NEAR(many[i].estimate.p, normal::cdf((i < 4 ? 0.5 : 1.0) / *many[i].sigma), i % 2 == 0 ? 1e-6 : 0.05);
  }
}

TEST(LoadedModel, KnowsTheProbabilitiesOfLabels) {
  EstimateOptions options;
  options.labels = {1, -1};
  const std::vector<Row> rows = loaded().estimate(Tensor({2, 2}, {0.5F, 0, 0.5F, 0}), {"gaussian:0.5"}, {"taylor"}, options);
  EXPECT_EQ(rows[0].label, 1);
  EXPECT_NEAR(rows[0].estimate.p_label.value(), normal::cdf(-1.0), 1e-6);
  EXPECT_FALSE(rows[1].label);
  EXPECT_FALSE(rows[1].estimate.p_label);
}

TEST(LoadedModel, DefaultsToAuto) {
  const std::vector<Row> rows = loaded().estimate(Tensor({2}, {0.5F, 0}), {"gaussian:0.5"});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].estimator, "auto:100");
}

TEST(LoadedModel, GivesLogitsAndMargins) {
  LoadedModel model = loaded();
  const Tensor x({2, 2}, {0.5F, 0, -1, 101});
  EXPECT_EQ(model.logits(x).data, (std::vector<float>{0.5F, -0.5F, -100, -1, 1, 1}));
  EXPECT_EQ(model.margins(x).shape, (Shape{2, 2}));
  EXPECT_EQ(model.margins(x).data, (std::vector<float>{1, 100.5F, 2, 0}));  // margins over classes 0 and 1
  EXPECT_EQ(model.margins(x, {2, 2}).data, (std::vector<float>{-100.5F, -99.5F, 2, 0}));
}

TEST(LoadedModel, TakesPreprocessingSeedAndTargets) {
  LoadOptions scaled;
  scaled.preprocessing.std = {2};
  EXPECT_EQ(loaded(scaled).logits(Tensor({2}, {1, 0})).data, (std::vector<float>{0.5F, -0.5F, -100}));

  LoadedModel model = loaded();
  const Tensor x({2}, {0.5F, 0});
  const auto p = [&](const EstimateOptions& options) {
    return model.estimate(x, {"gaussian:0.5"}, {"mc:1000"}, options)[0].estimate.p;
  };
  EXPECT_EQ(p({.seed = 3}), p({.seed = 3}));
  EXPECT_NE(p({.seed = 3}), p({.seed = 4}));
  EXPECT_NE(p({.seed = 3}), p({.seed = 3, .first_index = 1}));
  EXPECT_LT(p({.targets = {1}}), 0.3);
}

// f = x0 + 2 x1. Its change under noise of deviation s is normal, with deviation s sqrt(5).
TEST(LoadedModel, RegressionModelsHaveATolerance) {
  test::OnnxBuilder onnx;
  onnx.input("x", {-1, 2}).weight("w", Tensor({2, 1}, {1, 2})).node("MatMul", {"x", "w"}, {"y"}).output("y", {-1, 1});
  const std::string bytes = onnx.bytes();
  LoadOptions within;
  within.tolerance = {0.4};
  LoadedModel model = load_model(std::as_bytes(std::span(bytes)), within);
  EXPECT_EQ(model.classes(), 3);
  EXPECT_EQ(model.point_shape(), Shape{2});
  EXPECT_EQ(model.imported().class_names, (std::vector<std::string>{"below", "above", "within"}));
  EXPECT_EQ(model.imported().decision, "every output of 'y' changes by less than 0.4");
  const Tensor x({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(model.logits(x).data, (std::vector<float>{5, 11}));
  const std::vector<Row> rows = model.estimate(x, {"gaussian:0.2"}, {"taylor"});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].target, 2);
  EXPECT_EQ(rows[0].noise, "gaussian:0.2");
  EXPECT_NEAR(rows[0].estimate.p_fail, 2 * normal::cdf(-0.4 / (0.2 * std::sqrt(5.0))), 1e-6);
  EXPECT_TRUE(model.estimate(Tensor({0, 2}), {"gaussian:0.2"}, {"taylor"}).empty());
  EstimateOptions options;
  options.labels = {0, 1};
  EXPECT_THROW((void)model.estimate(x, {"gaussian:0.2"}, {"taylor"}, options), Error);
  EXPECT_THROW((void)model.check(x), Error);
  EXPECT_THROW((void)model.margins(x), Error);
}

TEST(LoadedModel, ClassifiersHaveNoTolerance) {
  test::OnnxBuilder onnx;
  onnx.input("x", {1, 2}).node("Softmax", {"x"}, {"y"}).output("y");
  const std::string bytes = onnx.bytes();
  LoadOptions within;
  within.tolerance = {0.4};
  EXPECT_THROW((void)load_model(std::as_bytes(std::span(bytes)), within), Error);
}

TEST(LoadedModel, StepsReportProgress) {
  LoadedModel model = loaded();
  EstimateRun run = model.start_estimate(Tensor({2}, {0.5F, 0}), {"gaussian:0.5"}, {"mc:100000"});
  EXPECT_GE(run.planned(), 100000);
  int steps = 1;
  while (!run.step(0)) ++steps;
  EXPECT_GT(steps, 1);
  EXPECT_GE(model.progress().passes, 100000);
  EXPECT_EQ(run.rows().at(0).estimate.p, model.estimate(Tensor({2}, {0.5F, 0}), {"gaussian:0.5"}, {"mc:100000"})[0].estimate.p);
}

TEST(LoadedModel, ErrorsAreTypedAndStandard) {
  LoadedModel model = loaded();
  const Tensor x({2}, {0.5F, 0});
  const auto code = [](const auto& body) {
    try {
      body();
    } catch (const Error& error) {
      const std::exception& standard = error;
      EXPECT_EQ(standard.what(), error.message());
      return error.code;
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code([] { (void)load_model(std::as_bytes(std::span("no model", 8))); }), ErrorCode::unreadable);
  EXPECT_EQ(code([] { (void)loaded({.device = "abacus"}); }), ErrorCode::usage);
  EXPECT_EQ(code([&] { (void)model.estimate(x, {"gaussian:-1"}); }), ErrorCode::usage);
  EXPECT_EQ(code([&] { (void)model.estimate(x, {"gaussian:1"}, {"abacus"}); }), ErrorCode::usage);
  EXPECT_EQ(code([&] { (void)model.estimate(x, {}); }), ErrorCode::usage);
  EXPECT_EQ(code([&] { (void)model.estimate(x, {"gaussian:1"}, {"mc:10"}, {.targets = {7}}); }), ErrorCode::usage);
  EXPECT_EQ(code([&] { (void)model.margins(x, {0, 1}); }), ErrorCode::usage);
  EXPECT_NE(code([&] { (void)model.logits(Tensor({3})); }), ErrorCode::internal);
  model.progress().stop = true;
  EXPECT_EQ(code([&] { (void)model.estimate(x, {"gaussian:1"}, {"mc:10"}); }), ErrorCode::interrupted);
}

TEST(Error, UnexpectedExceptionsAreInternalErrors) {
  const auto result = guarded("here", []() -> int { throw std::logic_error("oh"); });
  EXPECT_EQ(result.error().code, ErrorCode::internal);
  EXPECT_EQ(result.error().message(), "here failed with an internal error: oh; please report it");
  EXPECT_EQ(guarded("here", []() -> int { throw std::length_error("oh"); }).error().code, ErrorCode::resources);
}

TEST(Error, OptionsAreSpelledAsCallersWriteThem) {
  const Error error{ErrorCode::usage, option("input_shape"), "does not fit", "give another " + option("memory")};
  EXPECT_TRUE(is_option(error.where));
  EXPECT_FALSE(is_option("input_shape"));
  EXPECT_EQ(error.message(), "input_shape does not fit; give another memory");
  EXPECT_EQ(error.message([](std::string_view field) { return "<" + std::string(field) + ">"; }),
            "<input_shape> does not fit; give another <memory>");
  EXPECT_EQ(spelled("not an option: \x1e", as_field), "not an option: \x1e");
}

}  // namespace
}  // namespace probust
