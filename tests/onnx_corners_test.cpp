// SPDX-License-Identifier: MIT
// Corner cases of ONNX operators in which a plausible mistake would not show on plain examples: last elements, odd sizes, even
// windows, unequal numbers of heads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "probust/onnx/preprocess.h"
#include "support/imported.h"

namespace probust {
namespace {

using test::imported;
using test::OnnxAttribute;
using test::OnnxBuilder;
using Floats = std::vector<float>;

void expect_near(const Floats& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-5 * (1 + std::fabs(expected[i]))) << i;
}

// Five cells, then two of padding, and windows of three: the third window would be entirely in the padding.
TEST(OnnxCorners, CeilModeLeavesOutWindowsInTheTrailingPadding) {
  OnnxBuilder builder;
  builder.input("x", {1, 1, 5});
  builder.node("AveragePool", {"x"}, {"p"},
               {OnnxAttribute::ints("kernel_shape", {3}), OnnxAttribute::ints("strides", {3}),
                OnnxAttribute::ints("pads", {0, 2}), OnnxAttribute::integer("ceil_mode", 1)});
  builder.node("Flatten", {"p"}, {"y"}).output("y");
  EXPECT_EQ(imported(builder, {1, 1, 5}, {1, 2, 3, 4, 6}), (Floats{2, 5}));
}

TEST(OnnxCorners, SlicesBackwardsReachTheFirstElement) {
  OnnxBuilder builder;
  builder.input("x", {1, 4}).integers("start", {-1}).integers("end", {std::numeric_limits<std::int64_t>::min()});
  builder.integers("axis", {1}).integers("step", {-1}).node("Slice", {"x", "start", "end", "axis", "step"}, {"y"}).output("y");
  EXPECT_EQ(imported(builder, {1, 4}, {1, 2, 3, 4}), (Floats{4, 3, 2, 1}));
}

// Five elements split into two parts: three and two.
TEST(OnnxCorners, SplitMakesItsLastPartSmaller) {
  for (const bool first : {true, false}) {
    OnnxBuilder builder(18);
    builder.input("x", {1, 5});
    builder.node("Split", {"x"}, {"a", "b"}, {OnnxAttribute::integer("axis", 1), OnnxAttribute::integer("num_outputs", 2)});
    builder.node("Identity", {first ? "a" : "b"}, {"y"}).output("y");
    EXPECT_EQ(imported(builder, {1, 5}, {1, 2, 3, 4, 5}), (first ? Floats{1, 2, 3} : Floats{4, 5}));
  }
}

TEST(OnnxCorners, ScatterUsesItsReduction) {
  const auto by = [](const std::string& reduction) {
    OnnxBuilder builder(18);
    builder.input("x", {1, 3}).integers("at", {0, 2, 2}, {1, 3}).weight("updates", Tensor({1, 3}, {5, -1, 4}));
    builder.node("ScatterElements", {"x", "at", "updates"}, {"y"},
                 {OnnxAttribute::integer("axis", 1), OnnxAttribute::text("reduction", reduction)});
    return imported(builder.output("y"), {1, 3}, {2, 3, 3});
  };
  EXPECT_EQ(by("max"), (Floats{5, 3, 4}));
  EXPECT_EQ(by("min"), (Floats{2, 3, -1}));
  EXPECT_EQ(by("add"), (Floats{7, 3, 6}));
  EXPECT_EQ(by("mul"), (Floats{10, 3, -12}));
}

// Data [2, 2, 2] and one index pair for each of the two batches.
TEST(OnnxCorners, GatherNDStaysWithinItsBatch) {
  OnnxBuilder builder;
  builder.input("x", {1, 8}).integers("cube", {2, 2, 2}).integers("at", {1, 0, 0, 1}, {2, 2}).integers("row", {1, 2});
  builder.node("Reshape", {"x", "cube"}, {"c"}).node("GatherND", {"c", "at"}, {"g"}, {OnnxAttribute::integer("batch_dims", 1)});
  builder.node("Reshape", {"g", "row"}, {"y"}).output("y");
  EXPECT_EQ(imported(builder, {1, 8}, {0, 1, 2, 3, 4, 5, 6, 7}), (Floats{2, 5}));
}

TEST(OnnxCorners, IsInfDetectsTheRequestedSigns) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const bool positive : {true, false}) {
    for (const bool negative : {true, false}) {
      OnnxBuilder builder;
      builder.input("x", {1, 3});
      builder.node("IsInf", {"x"}, {"i"},
                   {OnnxAttribute::integer("detect_positive", positive ? 1 : 0),
                    OnnxAttribute::integer("detect_negative", negative ? 1 : 0)});
      builder.node("Cast", {"i"}, {"y"}, {OnnxAttribute::integer("to", 1)}).output("y");
      EXPECT_EQ(imported(builder, {1, 3}, {kInfinity, -kInfinity, 1}), (Floats{positive ? 1.0F : 0, negative ? 1.0F : 0, 0}));
    }
  }
}

// Four query heads of size 2 share two key heads in pairs. There are two keys, and scores are divided by sqrt(2).
TEST(OnnxCorners, AttentionRepeatsKeyHeadsSideBySide) {
  const Floats query{1, 0, 0, 2, 1, 1, -1, 3};
  const Tensor keys({1, 2, 2, 2}, {1, 0, 0, 1, 2, 1, -1, 1}), values({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  OnnxBuilder builder(23);
  builder.input("x", {1, 4, 1, 2}).weight("k", keys).weight("v", values);
  builder.node("Attention", {"x", "k", "v"}, {"a"}).node("Flatten", {"a"}, {"y"}).output("y");
  std::vector<double> expected;
  for (std::size_t head = 0; head < 4; ++head) {
    const float *q = query.data() + 2 * head, *k = keys.data.data() + 4 * (head / 2), *v = values.data.data() + 4 * (head / 2);
    const double first = std::exp((q[0] * k[0] + q[1] * k[1]) / std::sqrt(2.0)),
                 second = std::exp((q[0] * k[2] + q[1] * k[3]) / std::sqrt(2.0));
    for (std::size_t e = 0; e < 2; ++e) expected.push_back((first * v[e] + second * v[2 + e]) / (first + second));
  }
  expect_near(imported(builder, {1, 4, 1, 2}, query), expected);
}

// The scores of one query for two keys are capped as cap tanh(score / cap). The mask is shorter than the keys and hides the
// rest.
TEST(OnnxCorners, AttentionCapsAndMasks) {
  const Floats query{2, 1};
  const Tensor keys({1, 1, 2, 2}, {1, 0, 3, -1}), values({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto run = [&](bool masked, const std::vector<OnnxAttribute>& attributes) {
    OnnxBuilder builder(23);
    builder.input("x", {1, 1, 1, 2}).weight("k", keys).weight("v", values);
    std::vector<std::string> operands{"x", "k", "v"};
    if (masked) operands.push_back("mask");
    builder.weight("mask", Tensor({1, 1}, {0.5F})).node("Attention", operands, {"a"}, attributes).node("Flatten", {"a"}, {"y"});
    return imported(builder.output("y"), {1, 1, 1, 2}, query);
  };
  const double first = std::exp(2 * std::tanh(2 / std::sqrt(2.0) / 2)), second = std::exp(2 * std::tanh(5 / std::sqrt(2.0) / 2));
  expect_near(run(false, {OnnxAttribute::number("softcap", 2)}),
              {(first + 3 * second) / (first + second), (2 * first + 4 * second) / (first + second)});
  expect_near(run(true, {}), {1, 2});
}

// [1, 2, 3, 4] by [3, 4]: the second operand's ellipsis corresponds to the last axis of the first operand's.
TEST(OnnxCorners, EllipsesOfEinsumAreAlignedAtTheirLastAxes) {
  Floats x(24), weights(12);
  std::iota(x.begin(), x.end(), 0.0F);
  std::iota(weights.begin(), weights.end(), 1.0F);
  OnnxBuilder builder;
  builder.input("x", {1, 2, 3, 4}).weight("w", Tensor({3, 4}, weights));
  builder.node("Einsum", {"x", "w"}, {"e"}, {OnnxAttribute::text("equation", "...i,...i->...")});
  builder.node("Flatten", {"e"}, {"y"}).output("y");
  std::vector<double> expected;
  for (std::size_t row = 0; row < 6; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) sum += x[4 * row + i] * weights[4 * (row % 3) + i];
    expected.push_back(sum);
  }
  expect_near(imported(builder, {1, 2, 3, 4}, x), expected);
}

// The model was exported with a batch of 2. The expanded value is a weight whose three rows are unrelated to the batch.
TEST(OnnxCorners, AFixedBatchIsNotTakenOutOfOtherExtents) {
  OnnxBuilder builder;
  builder.input("x", {2, 4})
      .weight("w", Tensor({1, 4}, {1, 2, 3, 4}))
      .integers("rows", {3, 4})
      .node("Expand", {"w", "rows"}, {"e"});
  builder.node("Gemm", {"x", "e"}, {"y"}, {OnnxAttribute::integer("transB", 1)}).output("y");
  EXPECT_EQ(imported(builder, {1, 4}, {1, 1, 1, 1}), (Floats{10, 10, 10}));
}

// Cell c reads cells c and c + 1: an even window extends farther after the cell than before it.
TEST(OnnxCorners, EvenWindowsOfLrnReachForward) {
  OnnxBuilder builder;
  builder.input("x", {1, 3, 1});
  builder.node("LRN", {"x"}, {"n"},
               {OnnxAttribute::integer("size", 2), OnnxAttribute::number("alpha", 2), OnnxAttribute::number("beta", 1),
                OnnxAttribute::number("bias", 1)});
  builder.node("Flatten", {"n"}, {"y"}).output("y");
  expect_near(imported(builder, {1, 3, 1}, {1, 2, 3}), {1.0 / (1 + 1 + 4), 2.0 / (1 + 4 + 9), 3.0 / (1 + 9)});
}

// Keys' kernel with a = -1/2 reproduces parabolas: x² at 1/4, 3/4 and so on, between cells that have two neighbours on each
// side.
TEST(OnnxCorners, CubicInterpolationIsExactOnParabolas) {
  const Floats squares{0, 1, 4, 9, 16, 25, 36, 49};
  OnnxBuilder builder;
  builder.input("x", {1, 1, 8}).integers("sizes", {1, 1, 16});
  builder.node("Resize", {"x", "", "", "sizes"}, {"r"},
               {OnnxAttribute::text("mode", "cubic"), OnnxAttribute::number("cubic_coeff_a", -0.5F)});
  builder.node("Flatten", {"r"}, {"y"}).output("y");
  const Floats y = imported(builder, {1, 1, 8}, squares);
  ASSERT_EQ(y.size(), 16U);
  for (std::size_t i = 4; i < 12; ++i) {
    const double at = (static_cast<double>(i) + 0.5) / 2 - 0.5;
    EXPECT_NEAR(y[i], at * at, 1e-4) << i;
  }
}

TEST(OnnxCorners, AlignedCornersStay) {
  OnnxBuilder builder;
  builder.input("x", {1, 1, 3}).integers("sizes", {1, 1, 5});
  builder.node("Resize", {"x", "", "", "sizes"}, {"r"},
               {OnnxAttribute::text("mode", "linear"), OnnxAttribute::text("coordinate_transformation_mode", "align_corners")});
  builder.node("Flatten", {"r"}, {"y"}).output("y");
  expect_near(imported(builder, {1, 1, 3}, {1, 5, 3}), {1, 3, 5, 4, 3});
}

// Quantised and dequantised numbers reach from -128 to 127, in steps of 1/2.
TEST(OnnxCorners, Int8ReachesItsLeastNumber) {
  const std::string zero = test::encode_tensor({}, 3, std::string(1, '\0'), "zero");
  OnnxBuilder builder;
  builder.input("x", {1, 4}).weight("scale", Tensor({}, {0.5F})).initializer(zero);
  builder.node("QuantizeLinear", {"x", "scale", "zero"}, {"q"})
      .node("DequantizeLinear", {"q", "scale", "zero"}, {"y"})
      .output("y");
  EXPECT_EQ(imported(builder, {1, 4}, {-100, -64, 1.2F, 100}), (Floats{-64, -64, 1, 63.5F}));
}

// x_0 <= 1 ? 3 : 5. An attribute determines whether a missing value takes the first branch.
TEST(OnnxCorners, MissingValuesTakeTheirBranch) {
  for (const bool tracks : {true, false}) {
    OnnxBuilder builder;
    builder.input("x", {1, 1});
    builder.node(
        "TreeEnsembleRegressor", {"x"}, {"y"},
        {OnnxAttribute::ints("nodes_treeids", {0, 0, 0}), OnnxAttribute::ints("nodes_nodeids", {0, 1, 2}),
         OnnxAttribute::ints("nodes_featureids", {0, 0, 0}), OnnxAttribute::texts("nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF"}),
         OnnxAttribute::numbers("nodes_values", {1, 0, 0}), OnnxAttribute::ints("nodes_truenodeids", {1, 0, 0}),
         OnnxAttribute::ints("nodes_falsenodeids", {2, 0, 0}),
         OnnxAttribute::ints("nodes_missing_value_tracks_true", {tracks ? 1 : 0, 0, 0}),
         OnnxAttribute::ints("target_treeids", {0, 0}), OnnxAttribute::ints("target_nodeids", {1, 2}),
         OnnxAttribute::ints("target_ids", {0, 0}), OnnxAttribute::numbers("target_weights", {3, 5}),
         OnnxAttribute::integer("n_targets", 1)},
        "ai.onnx.ml");
    EXPECT_EQ(imported(builder.output("y"), {1, 1}, {std::numeric_limits<float>::quiet_NaN()}), Floats{tracks ? 3.0F : 5.0F});
  }
}

// Data [C, H, W] in MATLAB's order: H varies fastest, then W, then C.
TEST(OnnxCorners, ColumnMajorImagesAreTurnedWithinTheirPlanes) {
  OnnxBuilder builder;
  builder.input("x", {1, 12}).node("Identity", {"x"}, {"y"}).output("y");
  const std::string bytes = builder.bytes();
  const Model model = import_onnx(std::as_bytes(std::span(bytes))).value();
  Preprocessing preprocessing;
  preprocessing.layout = Layout::whcn;
  const Graph graph = with_preprocessing(model, {3, 2, 2}, preprocessing).value();
  const Tensor image({3, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_EQ(test::evaluate(graph, {image})[0].data, (Floats{0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11}));
}

// Two weights in one file, one after another.
TEST(OnnxCorners, WeightsInAnotherFileBeginAtTheirOffset) {
  const Floats file{1, 2, 3, 40, 50, 60};
  const std::string tensor = test::encode_external({3}, "w", "weights", "12", "12");
  OnnxBuilder builder;
  builder.input("x", {1, 3}).initializer(tensor).node("Add", {"x", "w"}, {"y"}).output("y");
  const std::string bytes = builder.bytes();
  ImportOptions options;
  options.external = [&](const std::string&) { return std::as_bytes(std::span(file)); };
  const Model model = import_onnx(std::as_bytes(std::span(bytes)), options).value();
  EXPECT_EQ(test::evaluate(model.graph, {Tensor({1, 3}, {1, 1, 1})})[0].data, (Floats{41, 51, 61}));
}

}  // namespace
}  // namespace probust
