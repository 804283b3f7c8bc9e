// SPDX-License-Identifier: MIT
// Cases that are decided by convention: equal values, values at a threshold or between two cells, and numbers close to zero.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "probust/ops/append.h"
#include "support/imported.h"

namespace probust {
namespace {

using test::imported;
using test::OnnxAttribute;
using test::OnnxBuilder;
using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// A row of 6 cells with windows of 3 that overlap in one cell; the second operand is seeded.
const Window kRow{{1, 6}, {1, 3}, {1, 2}, {1, 1}, {0, 0}, {0, 1}};
// The same windows without overlap.
const Window kApart{{1, 6}, {1, 3}, {1, 3}, {1, 1}, {0, 0}, {0, 0}};

Floats of_windows(Op op, const Window& window, const Floats& image, const Floats& second, bool reference) {
  Graph g;
  const auto cells = static_cast<std::int64_t>(second.size());
  std::vector<ValueId> operands{append_input(g, {1, 1, 1, 6}, Extent::example, "x")};
  std::vector<Tensor> inputs{Tensor({1, 1, 1, 6}, image)};
  if (op != Op::max_pool) {
    operands.push_back(append_input(g, {1, 1, 1, cells}, Extent::seeded, "c"));
    inputs.emplace_back(Shape{1, 1, 1, cells}, second);
  }
  g.outputs = {append(g, op, operands, window)};
  return test::run_one(reference ? *compile_reference(g) : *compile_cpu(g), g, inputs)[0].data;
}

// It matters which of several equal cells is chosen, because that cell gets the whole gradient.
TEST(Ties, OfMaxPoolGoToTheFirstCell) {
  const Floats image{2, 2, 1, 3, 3, 3};
  for (const bool reference : {true, false}) {
    EXPECT_EQ(of_windows(Op::max_scatter, kApart, image, {5, 7}, reference), (Floats{5, 0, 0, 7, 0, 0})) << reference;
    EXPECT_EQ(of_windows(Op::max_scatter, kRow, image, {5, 7, 1}, reference), (Floats{5, 0, 0, 7, 1, 0})) << reference;
    EXPECT_EQ(of_windows(Op::max_gather, kApart, image, {1, 2, 3, 4, 5, 6}, reference), (Floats{1, 4})) << reference;
    EXPECT_EQ(of_windows(Op::max_gather, kRow, image, {1, 2, 3, 4, 5, 6}, reference), (Floats{1, 4, 5})) << reference;
  }
}

// The same for zeros, as a rectifier produces them.
TEST(Ties, OfMaxPoolOnZerosGoToTheFirstCell) {
  const Floats zeros(6, 0.0F);
  for (const bool reference : {true, false})
    EXPECT_EQ(of_windows(Op::max_scatter, kApart, zeros, {5, 7}, reference), (Floats{5, 0, 0, 7, 0, 0})) << reference;
}

// A NaN anywhere in the window propagates, and the window chooses the first NaN.
TEST(Ties, NaNWinsMaxPool) {
  const Floats image{kNaN, 9, 1, 2, 3, 9};
  for (const bool reference : {true, false}) {
    for (std::size_t cell = 0; cell < 6; ++cell) {
      Floats one(6, 1.0F);
      one[cell] = kNaN;
      one[cell < 3 ? 2 - cell : 8 - cell] += std::isnan(one[cell < 3 ? 2 - cell : 8 - cell]) ? 0.0F : 1.0F;
      const Floats y = of_windows(Op::max_pool, kApart, one, {}, reference);
      EXPECT_EQ(std::isnan(y[0]), cell < 3) << cell;
      EXPECT_EQ(std::isnan(y[1]), cell >= 3) << cell;
      Floats expected(6, 0.0F);
      expected[cell] = 4;
      const Floats chosen = of_windows(Op::max_scatter, kApart, one, cell < 3 ? Floats{4, 0} : Floats{0, 4}, reference);
      EXPECT_EQ(chosen, expected) << cell;
    }
    EXPECT_EQ(of_windows(Op::max_gather, kApart, image, {1, 2, 3, 4, 5, 6}, reference), (Floats{1, 6})) << reference;
    EXPECT_EQ(of_windows(Op::max_scatter, kApart, {1, kNaN, kNaN, 0, 0, 0}, {4, 0}, reference), (Floats{0, 4, 0, 0, 0, 0}));
  }
}

// A tree that computes x_0 MODE 1 ? 3 : 5.
Floats of_one_question(const std::string& mode, float x) {
  OnnxBuilder builder;
  builder.input("x", {1, 1});
  builder.node("TreeEnsembleRegressor", {"x"}, {"y"},
               {OnnxAttribute::ints("nodes_treeids", {0, 0, 0}), OnnxAttribute::ints("nodes_nodeids", {0, 1, 2}),
                OnnxAttribute::ints("nodes_featureids", {0, 0, 0}), OnnxAttribute::texts("nodes_modes", {mode, "LEAF", "LEAF"}),
                OnnxAttribute::numbers("nodes_values", {1, 0, 0}), OnnxAttribute::ints("nodes_truenodeids", {1, 0, 0}),
                OnnxAttribute::ints("nodes_falsenodeids", {2, 0, 0}), OnnxAttribute::ints("target_treeids", {0, 0}),
                OnnxAttribute::ints("target_nodeids", {1, 2}), OnnxAttribute::ints("target_ids", {0, 0}),
                OnnxAttribute::numbers("target_weights", {3, 5}), OnnxAttribute::integer("n_targets", 1)},
               "ai.onnx.ml");
  builder.output("y");
  return imported(builder, {1, 1}, {x});
}

TEST(Ties, AtAThresholdAreTheModes) {
  struct Case {
    std::string mode;
    bool below, at, above;
  };
  for (const Case& each :
       {Case{"BRANCH_LEQ", true, true, false}, Case{"BRANCH_LT", true, false, false}, Case{"BRANCH_GTE", false, true, true},
        Case{"BRANCH_GT", false, false, true}, Case{"BRANCH_EQ", false, true, false}, Case{"BRANCH_NEQ", true, false, true}}) {
    const auto answer = [](bool yes) { return Floats{yes ? 3.0F : 5.0F}; };
    EXPECT_EQ(of_one_question(each.mode, 0.5F), answer(each.below)) << each.mode;
    EXPECT_EQ(of_one_question(each.mode, 1), answer(each.at)) << each.mode;
    EXPECT_EQ(of_one_question(each.mode, 1.5F), answer(each.above)) << each.mode;
  }
}

Floats resized(const Floats& x, std::int64_t size, const std::vector<OnnxAttribute>& attributes) {
  const auto extent = static_cast<std::int64_t>(x.size());
  OnnxBuilder builder;
  builder.input("x", {1, 1, extent}).integers("sizes", {1, 1, size}).node("Resize", {"x", "", "", "sizes"}, {"r"}, attributes);
  builder.node("Flatten", {"r"}, {"y"}).output("y");
  return imported(builder, {1, 1, extent}, x);
}

// At half the size, the centre of each new cell is between two old cells, at 0.5, 2.5 and 4.5.
TEST(Ties, BetweenTwoCellsAreTheRoundingModes) {
  const Floats x{0, 1, 2, 3, 4, 5};
  const auto by = [&](const std::string& mode) { return resized(x, 3, {OnnxAttribute::text("nearest_mode", mode)}); };
  EXPECT_EQ(resized(x, 3, {}), (Floats{0, 2, 4}));
  EXPECT_EQ(by("round_prefer_floor"), (Floats{0, 2, 4}));
  EXPECT_EQ(by("round_prefer_ceil"), (Floats{1, 3, 5}));
  EXPECT_EQ(by("floor"), (Floats{0, 2, 4}));
  EXPECT_EQ(by("ceil"), (Floats{1, 3, 5}));
}

// Positions away from ties: -1/6, 1/2 - 1/3 and so on.
TEST(Ties, OfRoundingAreTheNearestElsewhere) {
  const Floats x{0, 1};
  const auto by = [&](const std::string& mode) { return resized(x, 6, {OnnxAttribute::text("nearest_mode", mode)}); };
  for (const char* mode : {"round_prefer_floor", "round_prefer_ceil"}) EXPECT_EQ(by(mode), (Floats{0, 0, 0, 1, 1, 1})) << mode;
  EXPECT_EQ(by("floor"), (Floats{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(by("ceil"), (Floats{0, 0, 1, 1, 1, 1}));
}

// A scale of 0.6 is slightly larger in float32, but 3 / 0.6 must be 5.
TEST(Ties, OfScalesAreThoseOfFloat32) {
  OnnxBuilder builder;
  builder.input("x", {1, 1, 10}).weight("scales", Tensor({3}, {1, 1, 0.6F}));
  builder.node(
      "Resize", {"x", "", "scales"}, {"r"},
      {OnnxAttribute::text("coordinate_transformation_mode", "asymmetric"), OnnxAttribute::text("nearest_mode", "floor")});
  builder.node("Flatten", {"r"}, {"y"}).output("y");
  EXPECT_EQ(imported(builder, {1, 1, 10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), (Floats{0, 1, 3, 5, 6, 8}));
}

void expect_near(const Floats& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-4 * (1 + std::fabs(expected[i]))) << i;
}

// Variances about as small as epsilon, with an explicit and with the default epsilon.
TEST(SmallVariances, OfLayerNormalizationHaveEpsilonAdded) {
  const Floats x{0, 0.002F, 0.004F, 0.01F};  // mean 0.004, variance 14e-6
  for (const double epsilon : {1e-5, 1e-3}) {
    OnnxBuilder builder;
    std::vector<OnnxAttribute> attributes;
    if (epsilon != 1e-5) attributes = {OnnxAttribute::number("epsilon", static_cast<float>(epsilon))};
    builder.input("x", {1, 4})
        .weight("scale", Tensor({4}, {1, 1, 2, 2}))
        .node("LayerNormalization", {"x", "scale"}, {"y"}, attributes);
    builder.output("y");
    const double inverse = 1 / std::sqrt(14e-6 + epsilon);
    expect_near(imported(builder, {1, 4}, x), {-0.004 * inverse, -0.002 * inverse, 0, 2 * 0.006 * inverse});
  }
}

// With constant statistics, and with a scale that is not constant, which are two code paths of the importer.
TEST(SmallVariances, OfBatchNormalizationHaveEpsilonAdded) {
  for (const double epsilon : {1e-5, 1e-3}) {
    std::vector<OnnxAttribute> attributes;
    if (epsilon != 1e-5) attributes = {OnnxAttribute::number("epsilon", static_cast<float>(epsilon))};
    for (const bool constant : {true, false}) {
      OnnxBuilder builder;
      builder.input("x", {1, 2}).weight("one", Tensor({2}, {1, 1})).weight("bias", Tensor({2}, {0.5F, 0}));
      builder.weight("mean", Tensor({2}, {0.5F, 1})).weight("variance", Tensor({2}, {2e-5F, 0}));
      builder.integers("channels", {2}).node("Reshape", {"x", "channels"}, {"own"});
      builder.node("BatchNormalization", {"x", constant ? "one" : "own", "bias", "mean", "variance"}, {"y"}, attributes);
      builder.output("y");
      const double scale = constant ? 1 : 2;
      expect_near(imported(builder, {1, 2}, {2, 2}), {1.5 * scale / std::sqrt(2e-5 + epsilon) + 0.5, scale / std::sqrt(epsilon)});
    }
  }
}

// Two groups of two channels; scale and bias are per group before opset 21, and per channel since then.
TEST(SmallVariances, OfGroupNormalizationAreTheGroups) {
  const Floats x{0, 2, 4, 6, 1, 1, 1, 5};  // groups with means 3 and 2, variances 5 and 3
  const std::vector<double> normal = [&] {
    std::vector<double> result;
    for (std::size_t i = 0; i < 8; ++i)
      result.push_back(i < 4 ? (x[i] - 3) / std::sqrt(5 + 1e-5) : (x[i] - 2) / std::sqrt(3 + 1e-5));
    return result;
  }();
  for (const std::int64_t opset : {18, 20, 21}) {
    const bool per_group = opset < 21;
    const Floats scale = per_group ? Floats{2, -1} : Floats{2, 3, -1, 4}, bias = per_group ? Floats{0.5F, 1} : Floats{1, 2, 3, 4};
    const auto count = static_cast<std::int64_t>(scale.size());
    OnnxBuilder builder(opset);
    builder.input("x", {1, 4, 2}).weight("scale", Tensor({count}, scale)).weight("bias", Tensor({count}, bias));
    builder.node("GroupNormalization", {"x", "scale", "bias"}, {"n"}, {OnnxAttribute::integer("num_groups", 2)});
    builder.node("Flatten", {"n"}, {"y"}).output("y");
    std::vector<double> expected;
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t entry = per_group ? i / 4 : i / 2;
      expected.push_back(normal[i] * scale[entry] + bias[entry]);
    }
    expect_near(imported(builder, {1, 4, 2}, x), expected);
  }
}

}  // namespace
}  // namespace probust
