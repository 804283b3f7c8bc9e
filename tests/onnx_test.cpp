// SPDX-License-Identifier: MIT
// Import: ONNX operators on small models with hand-computed results; the choice of the output; removed operators.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "probust/onnx/import.h"
#include "probust/onnx/preprocess.h"
#include "probust/ops/print.h"
#include "support/evaluate.h"
#include "support/imported.h"
#include "support/onnx_builder.h"

namespace probust {
namespace {

using test::import_bytes;
using test::OnnxAttribute;
using test::OnnxBuilder;

std::vector<float> run(const Model& model, const std::vector<float>& x) {
  return test::evaluate(model.graph, {Tensor(model.graph[model.graph.inputs()[0]].shape, x)})[0].data;
}

std::vector<float> run(const OnnxBuilder& builder, const std::vector<float>& x) {
  return run(import_bytes(builder.bytes()).value(), x);
}

void expect_values(const std::vector<float>& actual, const std::vector<float>& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 1e-5 * (1 + std::fabs(expected[i]))) << what << " element " << i;
}

// A model with one node on x [1, n].
std::vector<float> unary(const std::string& op, const std::vector<float>& x, const std::vector<OnnxAttribute>& attributes = {},
                         std::int64_t opset = 17) {
  OnnxBuilder builder(opset);
  builder.input("x", {-1, static_cast<std::int64_t>(x.size())}).node(op, {"x"}, {"y"}, attributes).output("y");
  return run(builder, x);
}

TEST(Onnx, ElementwiseFunctions) {
  const std::vector<float> x = {-2, -0.5F, 0, 1.5F};
  expect_values(unary("Relu", x), {0, 0, 0, 1.5F}, "Relu");
  expect_values(unary("LeakyRelu", x, {OnnxAttribute::number("alpha", 0.1F)}), {-0.2F, -0.05F, 0, 1.5F}, "LeakyRelu");
  expect_values(unary("Elu", x), {std::exp(-2.F) - 1, std::exp(-.5F) - 1, 0, 1.5F}, "Elu");
  expect_values(unary("Selu", {-1, 1}), {1.0507010F * 1.6732632F * (std::exp(-1.F) - 1), 1.0507010F}, "Selu");
  expect_values(unary("HardSigmoid", x), {0.1F, 0.4F, 0.5F, 0.8F}, "HardSigmoid");
  expect_values(unary("HardSwish", {-4, -1, 4}), {0, -1.F / 3, 4}, "HardSwish");
  expect_values(unary("Softsign", x), {-2.F / 3, -1.F / 3, 0, 0.6F}, "Softsign");
  expect_values(unary("Sigmoid", {0, 2}), {0.5F, 1 / (1 + std::exp(-2.F))}, "Sigmoid");
  expect_values(unary("Gelu", {1, -1}, {}, 20), {0.8413447F, -0.1586553F}, "Gelu");
  expect_values(unary("Gelu", {1, -1}, {OnnxAttribute::text("approximate", "tanh")}, 20), {0.8411920F, -0.1588080F}, "Gelu tanh");
  expect_values(unary("Mish", {1, 0}, {}, 18), {0.8650984F, 0}, "Mish");
  expect_values(unary("Clip", x, {OnnxAttribute::number("min", -1), OnnxAttribute::number("max", 1)}, 7), {-1, -0.5F, 0, 1},
                "Clip 7");
  expect_values(unary("Abs", x), {2, 0.5F, 0, 1.5F}, "Abs");
  expect_values(unary("Neg", x), {2, 0.5F, 0, -1.5F}, "Neg");
  expect_values(unary("Sign", x), {-1, -1, 0, 1}, "Sign");
  expect_values(unary("Erf", {0.5F, 1}), {0.5204999F, 0.8427008F}, "Erf");
}

TEST(Onnx, OperandsBroadcast) {
  OnnxBuilder builder;
  builder.input("x", {1, 2, 3}).weight("a", Tensor({3}, {1, 2, 3})).weight("b", Tensor({2, 1}, {10, 20}));
  builder.node("Mul", {"x", "a"}, {"m"})
      .node("Add", {"b", "m"}, {"s"})
      .node("Sub", {"s", "a"}, {"d"})
      .node("Flatten", {"d"}, {"y"})
      .output("y");
  expect_values(run(builder, {1, 1, 1, 2, 2, 2}), {10, 10, 10, 21, 22, 23}, "broadcast");
}

TEST(Onnx, GemmAndMatMul) {
  OnnxBuilder builder;
  builder.input("x", {-1, 2})
      .weight("w", Tensor({3, 2}, {1, 2, 3, 4, 5, 6}))
      .weight("b", Tensor({3}, {1, 1, 1}))
      .weight("v", Tensor({3, 2}, {1, 0, 0, 1, 1, 1}));
  builder.node("Gemm", {"x", "w", "b"}, {"h"},
               {OnnxAttribute::integer("transB", 1), OnnxAttribute::number("alpha", 2), OnnxAttribute::number("beta", 3)});
  builder.node("MatMul", {"h", "v"}, {"y"}).output("y");
  expect_values(run(builder, {1, -1}), {-1 * 2 + 3 + (-1 * 2 + 3), -1 * 2 + 3 + (-1 * 2 + 3)}, "Gemm");
}

TEST(Onnx, MatMulOfVectors) {
  OnnxBuilder builder;
  builder.input("x", {1, 2})
      .weight("v", Tensor({2}, {3, 4}))
      .node("MatMul", {"x", "v"}, {"s"})
      .node("Unsqueeze", {"s", "axes"}, {"u"})
      .integers("axes", {0});
  builder.weight("w", Tensor({1, 2}, {1, 2})).node("MatMul", {"u", "w"}, {"y"}).output("y");
  expect_values(run(builder, {1, 10}), {43, 86}, "vector");
}

TEST(Onnx, ConvolutionWithPaddingStrideAndGroups) {
  OnnxBuilder builder;
  builder.input("x", {1, 2, 2, 2})
      .weight("w", Tensor({2, 1, 2, 2}, {1, 1, 1, 1, 1, 0, 0, -1}))
      .weight("b", Tensor({2}, {100, 200}));
  builder.node(
      "Conv", {"x", "w", "b"}, {"c"},
      {OnnxAttribute::ints("strides", {1, 1}), OnnxAttribute::ints("pads", {1, 1, 0, 0}), OnnxAttribute::integer("group", 2)});
  builder.node("Flatten", {"c"}, {"y"}).output("y");
  expect_values(run(builder, {1, 2, 3, 4, 5, 6, 7, 8}), {101, 103, 104, 110, 195, 194, 193, 197}, "Conv");
}

TEST(Onnx, AutomaticPadding) {
  for (const auto& [mode, expected] :
       {std::pair{"SAME_UPPER", std::vector<float>{3, 5, 3}}, std::pair{"SAME_LOWER", std::vector<float>{1, 3, 5}},
        std::pair{"VALID", std::vector<float>{3, 5}}}) {
    OnnxBuilder builder;
    builder.input("x", {1, 1, 3}).weight("w", Tensor({1, 1, 2}, {1, 1}));
    builder.node("Conv", {"x", "w"}, {"c"}, {OnnxAttribute::text("auto_pad", mode)}).node("Flatten", {"c"}, {"y"}).output("y");
    expect_values(run(builder, {1, 2, 3}), expected, mode);
  }
}

TEST(Onnx, Pooling) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto pool = [&](const std::string& op, const std::vector<OnnxAttribute>& attributes) {
    OnnxBuilder builder;
    builder.input("x", {1, 1, 3, 3}).node(op, {"x"}, {"p"}, attributes).node("Flatten", {"p"}, {"y"}).output("y");
    return run(builder, x);
  };
  const auto kernel = OnnxAttribute::ints("kernel_shape", {2, 2}), strides = OnnxAttribute::ints("strides", {2, 2});
  expect_values(pool("MaxPool", {kernel}), {5, 6, 8, 9}, "MaxPool");
  expect_values(pool("MaxPool", {kernel, strides, OnnxAttribute::integer("ceil_mode", 1)}), {5, 6, 8, 9}, "MaxPool ceil");
  expect_values(pool("AveragePool", {kernel}), {3, 4, 6, 7}, "AveragePool");
  expect_values(pool("AveragePool", {kernel, strides, OnnxAttribute::integer("ceil_mode", 1)}), {3, 4.5F, 7.5F, 9},
                "AveragePool ceil");
  const auto pads = OnnxAttribute::ints("pads", {1, 1, 0, 0});
  expect_values(pool("AveragePool", {kernel, strides, pads}), {1, 2.5F, 5.5F, 7}, "AveragePool without padding");
  expect_values(pool("AveragePool", {kernel, strides, pads, OnnxAttribute::integer("count_include_pad", 1)}),
                {0.25F, 1.25F, 2.75F, 7}, "AveragePool with padding");
  expect_values(pool("GlobalAveragePool", {}), {5}, "GlobalAveragePool");
  expect_values(pool("GlobalMaxPool", {}), {9}, "GlobalMaxPool");
}

// Both taps of a dilated window may be outside the image; ONNX Runtime then returns the lowest float.
TEST(Onnx, TheMaximumOfAWindowOnThePaddingIsTheLowestFloat) {
  OnnxBuilder builder;
  builder.input("x", {1, 1, 3});
  builder.node(
      "MaxPool", {"x"}, {"p"},
      {OnnxAttribute::ints("kernel_shape", {2}), OnnxAttribute::ints("dilations", {4}), OnnxAttribute::ints("pads", {2, 3})});
  builder.node("Flatten", {"p"}, {"y"}).output("y");
  const std::vector<float> y = run(builder, {1, 2, -3});  // windows at (-2, 2), (-1, 3), (0, 4), (1, 5)
  EXPECT_EQ(y, (std::vector<float>{-3, std::numeric_limits<float>::lowest(), 1, 2}));
}

TEST(Onnx, BatchNormalizationDisappearsIntoItsNeighbour) {
  OnnxBuilder builder;
  builder.input("x", {-1, 1, 1, 2}).weight("w", Tensor({2, 1, 1, 1}, {1, -1})).weight("b", Tensor({2}, {0, 3}));
  builder.weight("scale", Tensor({2}, {2, 3}))
      .weight("shift", Tensor({2}, {1, -1}))
      .weight("mean", Tensor({2}, {0.5F, 1}))
      .weight("var", Tensor({2}, {4, 1}));
  builder.node("Conv", {"x", "w", "b"}, {"c"})
      .node("BatchNormalization", {"c", "scale", "shift", "mean", "var"}, {"n"}, {OnnxAttribute::number("epsilon", 0)});
  builder.node("Flatten", {"n"}, {"y"}).output("y");
  const Model model = import_bytes(builder.bytes()).value();
  expect_values(run(model, {1, 2}), {1.5F, 2.5F, 2, -1}, "BatchNormalization");
  for (const Node& node : model.graph.nodes) EXPECT_NE(node.op, Op::multiply) << to_text(model.graph);
}

TEST(Onnx, ShapeArithmeticIsDoneAtImport) {
  OnnxBuilder builder;
  builder.input("x", {-1, 2, 3}).node("Shape", {"x"}, {"s"}).node("Gather", {"s", "zero"}, {"n"}).integers("zero", {0});
  builder.node("Concat", {"n", "minus"}, {"target"}, {OnnxAttribute::integer("axis", 0)}).integers("minus", {-1});
  builder.node("Reshape", {"x", "target"}, {"y"}).output("y");
  const Model model = import_bytes(builder.bytes()).value();
  expect_values(run(model, {1, 2, 3, 4, 5, 6}), {1, 2, 3, 4, 5, 6}, "Reshape");
  EXPECT_EQ(model.classes, 6);
}

TEST(Onnx, SlicesSplitsAndPads) {
  OnnxBuilder builder;
  builder.input("x", {1, 6})
      .node("Slice", {"x", "start", "end", "axes", "step"}, {"r"})
      .integers("start", {-1})
      .integers("end", {-9223372036854775807})
      .integers("axes", {1})
      .integers("step", {-2});
  builder.node("Split", {"r"}, {"a", "b", "c"}, {OnnxAttribute::integer("axis", 1)})
      .node("Concat", {"c", "a"}, {"j"}, {OnnxAttribute::integer("axis", 1)});
  builder.node("Pad", {"j", "pads", "value"}, {"y"})
      .integers("pads", {0, 1, 0, 2})
      .weight("value", Tensor::scalar(7))
      .output("y");
  expect_values(run(builder, {0, 1, 2, 3, 4, 5}), {7, 1, 5, 7, 7}, "Slice, Split, Pad");
}

TEST(Onnx, ReductionsAndSoftmax) {
  OnnxBuilder builder(11);
  builder.input("x", {1, 2, 2})
      .node("ReduceMean", {"x"}, {"m"}, {OnnxAttribute::ints("axes", {-1}), OnnxAttribute::integer("keepdims", 0)})
      .output("m");
  expect_values(run(builder, {1, 3, 5, 9}), {2, 7}, "ReduceMean");
  OnnxBuilder inner(13);
  inner.input("x", {1, 2})
      .node("Softmax", {"x"}, {"s"})
      .weight("w", Tensor({2, 2}, {1, 0, 0, 1}))
      .node("MatMul", {"s", "w"}, {"y"})
      .output("y");
  expect_values(run(inner, {0, std::log(3.F)}), {0.25F, 0.75F}, "inner Softmax stays");
}

TEST(Onnx, WeightsOfOtherTypesAreWidened) {
  const auto model_with = [](std::int32_t type, const std::string& raw) {
    OnnxBuilder builder;
    builder.input("x", {1, 2}).initializer(test::encode_tensor({2}, type, raw, "w")).node("Mul", {"x", "w"}, {"y"}).output("y");
    return builder;
  };
  const std::vector<double> doubles = {1.5, -2};
  expect_values(run(model_with(11, test::raw_bytes(doubles)), {1, 1}), {1.5F, -2}, "double");
  const std::vector<std::uint16_t> halves = {0x3e00, 0xc000}, brains = {0x3fc0, 0xc000};
  expect_values(run(model_with(10, test::raw_bytes(halves)), {1, 1}), {1.5F, -2}, "float16");
  expect_values(run(model_with(16, test::raw_bytes(brains)), {1, 1}), {1.5F, -2}, "bfloat16");
}

OnnxBuilder with_head(const std::string& head) {
  OnnxBuilder builder;
  builder.input("x", {-1, 2})
      .weight("w", Tensor({2, 3}, {1, 2, 3, 4, 5, 6}))
      .node("MatMul", {"x", "w"}, {"logits"})
      .node(head, {"logits"}, {"y"})
      .output("y", {-1, 3});
  return builder;
}

TEST(Onnx, TheFinalSoftmaxIsLeftOut) {
  for (const char* head : {"Softmax", "LogSoftmax"}) {
    const Model model = import_bytes(with_head(head).bytes()).value();
    expect_values(run(model, {1, 1}), {5, 7, 9}, head);
    ASSERT_EQ(model.notes.size(), 1U);
    EXPECT_NE(model.notes[0].find(head), std::string::npos);
  }
  expect_values(run(import_bytes(with_head("Relu").bytes()).value(), {1, -1}), {0, 0, 0}, "Relu stays");
}

TEST(Onnx, TheOutputThatIsAVectorOfClassesDecides) {
  OnnxBuilder builder = with_head("Relu");
  builder.node("ReduceSum", {"y"}, {"total"}).output("total");
  OnnxBuilder reversed;
  reversed.input("x", {-1, 2})
      .weight("w", Tensor({2, 3}, {1, 2, 3, 4, 5, 6}))
      .node("MatMul", {"x", "w"}, {"logits"})
      .node("ReduceSum", {"logits"}, {"total"})
      .output("total")
      .output("logits");
  const Model model = import_bytes(reversed.bytes()).value();
  EXPECT_EQ(model.output_name, "logits");
  EXPECT_EQ(model.classes, 3);
  ImportOptions options;
  options.output_name = "total";
  EXPECT_EQ(import_bytes(reversed.bytes(), options)->classes, 1);
  options.output_name = "nothing";
  EXPECT_EQ(import_bytes(reversed.bytes(), options).error().code, ErrorCode::usage);
}

// Twice(a, low) = clip(2 leaky(a), low), with the caller's slope; the bound is optional.
OnnxBuilder with_function() {
  OnnxBuilder body;
  body.node("LeakyRelu", {"a"}, {"l"}, {OnnxAttribute::from_caller("alpha", "slope", 1)}).node("Sum", {"l", "l"}, {"s"});
  body.node("Clip", {"s", "low"}, {"r"});
  OnnxBuilder builder;
  builder.function("Twice", {"a", "low"}, {"r"}, body);
  return builder;
}

// As keras2onnx writes nodes: in the graph, in functions and in branches.
TEST(Onnx, NodesMayBeInAnyOrder) {
  OnnxBuilder builder;
  builder.input("x", {-1, 2}).node("MatMul", {"a", "w"}, {"b"}).node("Relu", {"x"}, {"a"}).node("Softmax", {"c"}, {"y"});
  builder.node("Add", {"b", "a"}, {"c"}).weight("w", Tensor({2, 2}, {1, 2, 3, 4})).output("y", {-1, 2});
  expect_values(run(builder, {-1, 2}), {6, 10}, "graph");
  OnnxBuilder body;
  body.node("Neg", {"m"}, {"r"}).node("Exp", {"a"}, {"m"});
  OnnxBuilder caller;
  caller.function("Minus", {"a"}, {"r"}, body).input("x", {1, 2}).node("Minus", {"x"}, {"y"}, {}, "custom").output("y");
  expect_values(run(caller, {0, 1}), {-1, -std::exp(1.F)}, "function");
  // The branches read "twice" from the graph, and use the same name for a value as a later node of the graph.
  const auto branch = [](const std::string& name, const std::string& op) {
    OnnxBuilder in_branch;
    in_branch.node(op, {"y"}, {"chosen"}).node("Neg", {"twice"}, {"y"}).output("chosen");
    return OnnxAttribute::graph(name, in_branch.graph());
  };
  OnnxBuilder choice(12);
  choice.input("x", {1, 2}).weight("zero", Tensor::scalar(0)).node("Relu", {"z"}, {"y"});
  choice.node("If", {"negative"}, {"z"}, {branch("then_branch", "Neg"), branch("else_branch", "Exp")});
  choice.node("Less", {"sum", "zero"}, {"negative"}).node("ReduceSum", {"x"}, {"sum"}).node("Add", {"x", "x"}, {"twice"});
  expect_values(run(choice.output("y"), {-3, 1}), {0, 2}, "branch");
}

TEST(Onnx, ASortedFileKeepsItsOrder) {
  OnnxBuilder builder;
  builder.input("x", {-1, 2}).node("Exp", {"x"}, {"a"}).node("Abs", {"x"}, {"b"}).node("Neg", {"a"}, {"c"});
  builder.node("Add", {"c", "b"}, {"y"}).output("y", {-1, 2});
  const auto order = [](const std::string& bytes) {
    std::vector<Op> ops;
    for (const Node& node : import_bytes(bytes).value().graph.nodes) ops.push_back(node.op);
    return ops;
  };
  const std::vector<Op> sorted = {Op::input, Op::exp, Op::absolute, Op::negate, Op::add, Op::reshape};
  EXPECT_EQ(order(builder.bytes()), sorted);
  EXPECT_NE(order(test::with_reversed_nodes(builder.bytes())), sorted);  // |x| comes first
}

TEST(Onnx, FunctionsOfTheModelAreInlined) {
  OnnxBuilder builder = with_function();
  builder.input("x", {1, 2}).weight("bound", Tensor::scalar(-1));
  builder.node("Twice", {"x"}, {"a"}, {OnnxAttribute::number("slope", 0.5F)}, "custom");
  builder.node("Twice", {"a", "bound"}, {"y"}, {OnnxAttribute::number("slope", 0.25F)}, "custom").output("y");
  expect_values(run(builder, {-4, 1}), {-1, 4}, "Twice of Twice");
}

TEST(Onnx, AFunctionThatCallsItselfIsRefused) {
  OnnxBuilder body;
  body.node("Endless", {"a"}, {"r"}, {}, "custom");
  OnnxBuilder builder;
  builder.function("Endless", {"a"}, {"r"}, body).input("x", {1, 2}).node("Endless", {"x"}, {"y"}, {}, "custom").output("y");
  EXPECT_EQ(import_bytes(builder.bytes()).error().code, ErrorCode::unreadable);
}

// Each function calls the next one twice: 2^24 nodes from a file of a few kilobytes.
TEST(Onnx, FunctionsThatGrowWithoutEndAreRefused) {
  OnnxBuilder builder;
  for (int i = 0; i < 24; ++i) {
    const std::string next = i == 23 ? "Relu" : "F" + std::to_string(i + 1), domain = i == 23 ? "" : "custom";
    OnnxBuilder body;
    body.node(next, {"a"}, {"b"}, {}, domain).node(next, {"b"}, {"r"}, {}, domain);
    builder.function("F" + std::to_string(i), {"a"}, {"r"}, body);
  }
  builder.input("x", {1, 2}).node("F0", {"x"}, {"y"}, {}, "custom").output("y");
  EXPECT_EQ(import_bytes(builder.bytes()).error().code, ErrorCode::resources);
}

// The condition depends on the input; the branches read values of the outer graph.
TEST(Onnx, AnIfWhoseConditionDependsOnTheInputChoosesBetweenItsBranches) {
  const auto branch = [](const std::string& name, const std::string& op) {
    OnnxBuilder body;
    body.node(op, {"x"}, {"chosen"}).output("chosen");
    return OnnxAttribute::graph(name, body.graph());
  };
  OnnxBuilder builder(12);
  builder.input("x", {1, 2}).weight("zero", Tensor::scalar(0)).node("ReduceSum", {"x"}, {"sum"});
  builder.node("Less", {"sum", "zero"}, {"negative"});
  builder.node("If", {"negative"}, {"y"}, {branch("then_branch", "Neg"), branch("else_branch", "Exp")}).output("y");
  expect_values(run(builder, {-3, 1}), {3, -1}, "then");
  expect_values(run(builder, {0, 1}), {1, std::exp(1.F)}, "else");
}

TEST(Onnx, TheLogitsAreFoundBeforeAnArgMax) {
  OnnxBuilder label;
  label.input("x", {-1, 2})
      .weight("w", Tensor({2, 3}, {1, 2, 3, 4, 5, 6}))
      .node("MatMul", {"x", "w"}, {"logits"})
      .node("Softmax", {"logits"}, {"p"})
      .node("ArgMax", {"p"}, {"y"}, {OnnxAttribute::integer("axis", 1)})
      .output("y", {-1, 1});
  const Model model = import_bytes(label.bytes()).value();
  expect_values(run(model, {1, 1}), {5, 7, 9}, "ArgMax");
  EXPECT_EQ(model.notes.size(), 2U);  // the ArgMax, the Softmax
}

TEST(Onnx, OneNumberAfterASigmoidMayMeanTwoClasses) {
  OnnxBuilder builder;
  builder.input("x", {-1, 2}).weight("w", Tensor({2, 1}, {1, 2})).node("MatMul", {"x", "w"}, {"s"}).node("Sigmoid", {"s"}, {"y"});
  builder.output("y", {-1, 1});
  EXPECT_EQ(import_bytes(builder.bytes())->classes, 1);
  ImportOptions options;
  options.decide = true;
  expect_values(run(import_bytes(builder.bytes(), options).value(), {1, 2}), {0, 5}, "two classes");
}

TEST(Onnx, ABatchFixedAtExportIsRemovedFromTheShapes) {
  OnnxBuilder builder;
  builder.input("x", {4, 2, 3}).integers("flat", {4, 6}).integers("heads", {8, 3}).integers("back", {4, -1});
  builder.node("Reshape", {"x", "heads"}, {"h"}).node("Relu", {"h"}, {"r"}).node("Reshape", {"r", "flat"}, {"f"});
  builder.node("Reshape", {"f", "back"}, {"y"}).output("y", {4, 6});
  const Model model = import_bytes(builder.bytes()).value();
  EXPECT_EQ(model.input_shape, (Shape{1, 2, 3}));
  expect_values(run(model, {1, -2, 3, -4, 5, -6}), {1, 0, 3, 0, 5, 0}, "Reshape");
  EXPECT_NE(model.notes.back().find("removed"), std::string::npos) << model.notes.back();
}

TEST(Onnx, IfABatchCannotBeRemovedARowIsRunAsCopies) {
  OnnxBuilder builder;
  builder.input("x", {3, 2}).weight("w", Tensor({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}));
  builder.node("MatMul", {"w", "x"}, {"y"}).output("y", {3, 2});
  const Model model = import_bytes(builder.bytes()).value();
  expect_values(run(model, {1, -2}), {1, -2}, "MatMul over the batch");
  EXPECT_NE(model.notes.back().find("cannot be batched"), std::string::npos) << model.notes.back();
}

// An exporter may leave the output's extent dynamic although the input's is fixed; the computed shape is used.
TEST(Onnx, AFixedBatchIsFoundIfTheOutputDeclaresNone) {
  OnnxBuilder builder;
  builder.input("x", {3, 2}).integers("flat", {3, 2}).node("Reshape", {"x", "flat"}, {"y"}).output("y", {-1, 2});
  const Model model = import_bytes(builder.bytes()).value();
  EXPECT_EQ(model.input_shape, (Shape{1, 2}));
  expect_values(run(model, {1, -2}), {1, -2}, "declared open");
}

// [4, 1] from [4, 2] is one number for each of four examples, not four classes. If the rows depend on each other, it is four
// classes.
TEST(Onnx, OneNumberPerRowOfAFixedBatchIsNotAVectorOfClasses) {
  OnnxBuilder rows;
  rows.input("x", {4, 2}).weight("w", Tensor({2, 1}, {1, 2})).node("MatMul", {"x", "w"}, {"s"}).node("Sigmoid", {"s"}, {"y"});
  rows.output("y", {4, 1});
  ImportOptions options;
  options.decide = true;
  const Model model = import_bytes(rows.bytes(), options).value();
  EXPECT_EQ(model.input_shape, (Shape{1, 2}));
  expect_values(run(model, {1, 2}), {0, 5}, "one of four rows");
  OnnxBuilder whole;
  whole.input("x", {2, 2}).weight("w", Tensor({2, 2}, {1, 2, 3, 4})).weight("v", Tensor({2, 1}, {1, 1}));
  whole.node("MatMul", {"w", "x"}, {"h"}).node("MatMul", {"h", "v"}, {"y"}).output("y", {2, 1});
  expect_values(run(whole, {1, 0, 0, 1}), {3, 7}, "rows that are mixed");
}

// A weight expanded to as many rows as there are examples is not a batch: the output's declared shape shows this.
TEST(Onnx, AnExtentThatOnlyLooksLikeTheFixedBatchStays) {
  OnnxBuilder builder;
  builder.input("x", {2, 4}).weight("w", Tensor({1, 4}, {1, 2, 3, 4})).integers("to", {2, 4});
  builder.node("Expand", {"w", "to"}, {"v"}).node("Gemm", {"x", "v"}, {"y"}, {OnnxAttribute::integer("transB", 1)});
  const Model model = import_bytes(builder.output("y", {2, 2}).bytes()).value();
  EXPECT_EQ(model.classes, 2);
  expect_values(run(model, {1, 0, 0, 1}), {5, 5}, "one of two rows");
  EXPECT_NE(model.notes.back().find("cannot be batched"), std::string::npos) << model.notes.back();
}

// [sequence, batch, features] with sequence = batch = 2: only dependencies show which axis is the batch.
TEST(Onnx, ABatchAsLongAsTheSequenceIsFoundByTrial) {
  const OnnxAttribute first_axis = OnnxAttribute::ints("axes", {0}), second_axis = OnnxAttribute::ints("axes", {1});
  for (const OnnxAttribute& sequence : {first_axis, second_axis}) {
    OnnxBuilder builder;
    builder.input("x", {2, 2, 3}).node("ReduceMax", {"x"}, {"y"}, {sequence, OnnxAttribute::integer("keepdims", 0)});
    const Model model = import_bytes(builder.output("y", {2, 3}).bytes()).value();
    const bool batch_behind = sequence.bytes == first_axis.bytes;
    EXPECT_EQ(model.input_shape, (batch_behind ? Shape{2, 1, 3} : Shape{1, 2, 3}));
    expect_values(run(model, {1, 5, 3, 4, 2, 6}), {4, 5, 6}, "largest of the sequence");
  }
}

TEST(Onnx, TheBatchMayComeAfterTheSequence) {
  OnnxBuilder builder;
  builder.input("x", {3, -1, 2})
      .node("ReduceMean", {"x"}, {"y"}, {OnnxAttribute::ints("axes", {0}), OnnxAttribute::integer("keepdims", 0)});
  builder.output("y", {-1, 2});
  expect_values(run(builder, {1, 2, 3, 4, 5, 6}), {3, 4}, "sequence first");
}

OnnxBuilder with_open_extents() {
  OnnxBuilder builder;
  builder.input("x", {-1, 1, -1, -1}).node("GlobalMaxPool", {"x"}, {"m"}).node("GlobalAveragePool", {"x"}, {"a"});
  builder.node("Concat", {"m", "a"}, {"c"}, {OnnxAttribute::integer("axis", 1)}).node("Flatten", {"c"}, {"y"});
  return builder.output("y", {-1, 2});
}

TEST(Onnx, DynamicExtentsCanBeGiven) {
  ImportOptions options;
  options.input_shape = {1, 1, 2, 2};
  const Model model = import_bytes(with_open_extents().bytes(), options).value();
  EXPECT_EQ(model.input_shape, options.input_shape);
  expect_values(run(model, {1, 2, 3, 6}), {6, 3}, "pools of 2 x 2");
}

TEST(Onnx, MissingDynamicExtentsAreAnError) {
  const std::string bytes = with_open_extents().bytes();
  const Error open = import_bytes(bytes).error();
  EXPECT_EQ(open.code, ErrorCode::unsupported);
  EXPECT_NE(open.message().find("[?, 1, ?, ?]"), std::string::npos) << open.message();
  EXPECT_NE(open.message().find("input_shape 1,1,224,224"), std::string::npos) << open.message();
  for (const Shape& wrong : {Shape{1, 3, 2, 2}, Shape{1, 1, 2}, Shape{1, 1, 2, 0}}) {
    ImportOptions options;
    options.input_shape = wrong;
    const auto model = import_bytes(bytes, options);
    ASSERT_FALSE(model) << to_string(wrong);
    EXPECT_EQ(model.error().code, ErrorCode::usage) << model.error().message();
  }
}

// Extents of an input (-1: dynamic), the shape of the points, and the resulting extents.
TEST(Onnx, DynamicExtentsComeFromTheData) {
  const auto import_for = [](const Shape& declared, const Shape& point, Layout layout = Layout::automatic) {
    OnnxBuilder builder;
    builder.input("x", declared).integers("flat", {1, -1}).node("Reshape", {"x", "flat"}, {"y"}).output("y");
    ImportOptions options;
    options.data_shape = point;
    options.layout = layout;
    return import_bytes(builder.bytes(), options);
  };
  struct Row {
    Shape declared, point, expected;
    Layout layout = Layout::automatic;
  };
  for (const auto& [declared, point, expected, layout] : {
           Row{{-1, 3, -1, -1}, {3, 4, 5}, {1, 3, 4, 5}}, Row{{1, 3, -1, -1}, {3, 4, 5}, {1, 3, 4, 5}},
           Row{{-1, -1, -1, 3}, {3, 4, 5}, {1, 4, 5, 3}}, Row{{-1, -1, -1, 3}, {3, 3, 3}, {1, 3, 3, 3}},
           Row{{-1, -1, -1, -1}, {3, 4, 5}, {1, 3, 4, 5}}, Row{{-1, -1, -1, -1}, {3, 4, 5}, {1, 4, 5, 3}, Layout::nhwc},
           Row{{-1, -1, -1, -1}, {3, 4, 5}, {1, 3, 5, 4}, Layout::whcn}, Row{{-1, -1, -1}, {1, 4, 5}, {1, 4, 5}},
           Row{{-1, -1, -1, 1}, {1, 4, 5}, {1, 4, 5, 1}}, Row{{-1, 1, -1, -1}, {4, 5}, {1, 1, 4, 5}},
           Row{{3, -1, -1}, {3, 4, 5}, {3, 4, 5}}, Row{{-1, -1}, {7}, {1, 7}}, Row{{1, -1}, {7}, {1, 7}},
           Row{{-1, -1}, {3, 4, 5}, {1, 60}}, Row{{-1, 3, -1}, {12}, {1, 3, 4}}, Row{{-1, 3}, {3}, {1, 3}},
           Row{{2, -1, 3}, {6}, {2, 1, 3}},  // only the batch is dynamic, wherever it is, if that fits
       }) {
    const auto model = import_for(declared, point, layout);
    ASSERT_TRUE(model) << to_string(declared) << to_string(point) << model.error().message();
    EXPECT_EQ(model->input_shape, expected) << to_string(declared) << " for " << to_string(point);
  }
  EXPECT_FALSE(import_for({-1, 2, -1, -1}, {1, 2, 3}));  // [H, W, C] = [2, 3, 1] would fit, but nothing shows that C is last
  const Error other = import_for({-1, 3, -1, -1}, {1, 4, 5}).error();
  EXPECT_EQ(other.code, ErrorCode::unreadable);
  EXPECT_NE(other.message().find("has shape [?, 3, ?, ?], but the points have shape [1, 4, 5]"), std::string::npos)
      << other.message();
  for (const auto& [declared, point] : {std::pair{Shape{-1, 3, -1, -1}, Shape{60}}, std::pair{Shape{-1, 3, -1}, Shape{13}},
                                        std::pair{Shape{-1, -1, -1}, Shape{12}}}) {
    const Error unsettled = import_for(declared, point).error();
    EXPECT_EQ(unsettled.code, ErrorCode::unsupported);
    EXPECT_NE(unsettled.message().find("points of shape " + to_string(point) + " do not determine them"), std::string::npos)
        << unsettled.message();
    EXPECT_NE(unsettled.message().find("input_shape 1,"), std::string::npos) << unsettled.message();
  }
}

TEST(Onnx, ExtentsMayBeDynamicWithAFixedBatch) {
  OnnxBuilder builder;
  builder.input("x", {2, 2, -1, -1}).node("GlobalMaxPool", {"x"}, {"m"}).node("Flatten", {"m"}, {"y"}).output("y", {2, 2});
  ImportOptions options;
  options.data_shape = {2, 1, 3};
  const Model model = import_bytes(builder.bytes(), options).value();
  EXPECT_EQ(model.input_shape, (Shape{1, 2, 1, 3}));
  expect_values(run(model, {1, 2, 3, 6, 5, 4}), {3, 6}, "one of two");
}

TEST(Onnx, OfSeveralInputsOneMayCarryTheOutput) {
  OnnxBuilder builder;
  builder.input("x", {-1, 2}).input("target", {-1, 2}).input("unused", {7}).node("Relu", {"x"}, {"y"}).output("y", {-1, 2});
  expect_values(run(builder, {-1, 2}), {0, 2}, "inputs that nothing reads");
  builder.node("Sub", {"y", "target"}, {"loss"}).output("loss", {-1, 2});
  const Error error = import_bytes(builder.bytes()).error();
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_NE(error.message().find("'x' and 'target'"), std::string::npos) << error.message();
  EXPECT_NE(error.message().find("output_name"), std::string::npos) << error.message();
  ImportOptions options;
  options.output_name = "y";
  expect_values(run(import_bytes(builder.bytes(), options).value(), {-1, 2}), {0, 2}, "by the output's name");
}

TEST(Onnx, UnsupportedThingsAreNamed) {
  OnnxBuilder unknown;
  unknown.input("x", {1, 2}).node("Frobnicate", {"x"}, {"y"}).output("y");
  const Error error = import_bytes(unknown.bytes()).error();
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_NE(error.message().find("Frobnicate"), std::string::npos) << error.message();
  EXPECT_NE(error.message().find("'n0'"), std::string::npos) << error.message();
  OnnxBuilder old(3);
  old.input("x", {1, 2}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(import_bytes(old.bytes()).error().code, ErrorCode::unsupported);
  const std::string bytes = unknown.bytes();
  const ModelSummary summary = summarize_onnx(std::as_bytes(std::span(bytes))).value();
  ASSERT_EQ(summary.operators.size(), 1U);
  EXPECT_FALSE(summary.operators[0].runs);
}

std::int64_t parameters(const OnnxBuilder& builder) {
  const std::string bytes = builder.bytes();
  return summarize_onnx(std::as_bytes(std::span(bytes)))->parameters;
}

TEST(Onnx, ParametersCountWhereverTheyAreStored) {
  const Tensor w({2, 3}, {1, 2, 3, 4, 5, 6});
  OnnxBuilder initializer;
  initializer.input("x", {-1, 2}).weight("w", w).integers("shape", {1, -1}).node("MatMul", {"x", "w"}, {"y"}).output("y");
  EXPECT_EQ(parameters(initializer), 6);
  OnnxBuilder constants;
  constants.input("x", {-1, 2}).node("Constant", {}, {"w"}, {OnnxAttribute::tensor("value", w)});
  constants.node("Identity", {"w"}, {"v"}).node("Transpose", {"v"}, {"t"}).node("MatMul", {"x", "v"}, {"h"});
  constants.node("Constant", {}, {"b"}, {OnnxAttribute::numbers("value_floats", {1, 2, 3})}).node("Add", {"h", "b"}, {"s"});
  constants.node("Constant", {}, {"n"}, {OnnxAttribute::ints("value_ints", {1, -1})}).node("Reshape", {"s", "n"}, {"y"});
  EXPECT_EQ(parameters(constants.output("y")), 9);
  // Quantised weights, one through an Identity; zero points and shapes are not weights.
  OnnxBuilder quantised;
  const std::string q = test::encode_tensor({2, 3}, 3, std::string(6, '\1'), "q");
  quantised.input("x", {-1, 2}).initializer(q).weight("scale", Tensor::scalar(0.5F));
  quantised.initializer(test::encode_tensor({}, 3, std::string(1, '\0'), "zero")).node("Identity", {"q"}, {"p"});
  quantised.node("DequantizeLinear", {"p", "scale", "zero"}, {"w"}).node("MatMul", {"x", "w"}, {"y"}).output("y");
  EXPECT_EQ(parameters(quantised), 7);
  OnnxBuilder body;
  body.node("Constant", {}, {"w"}, {OnnxAttribute::tensor("value", w)}).node("MatMul", {"a", "w"}, {"r"});
  OnnxBuilder branch;
  branch.weight("b", Tensor({3}, {1, 2, 3})).node("Add", {"h", "b"}, {"r"}).output("r");
  OnnxBuilder nested;
  nested.function("Dense", {"a"}, {"r"}, body).input("x", {-1, 2}).node("Dense", {"x"}, {"h"}, {}, "custom");
  nested.node("Constant", {}, {"yes"}, {OnnxAttribute::integer("value_int", 1)});
  nested.node("If", {"yes"}, {"y"}, {OnnxAttribute::graph("then_branch", branch.graph())}).output("y");
  EXPECT_EQ(parameters(nested), 9);
}

TEST(Onnx, PreprocessingBecomesPartOfTheGraph) {
  OnnxBuilder builder;
  builder.input("x", {-1, 1, 2, 2}).node("Flatten", {"x"}, {"y"}).output("y");  // NHWC with C = 2 or NCHW with C = 1
  const Model model = import_bytes(builder.bytes()).value();
  const auto apply = [&](const Shape& shape, const Preprocessing& preprocessing) {
    const Graph graph = with_preprocessing(model, shape, preprocessing).value();
    return test::evaluate(graph, {Tensor(shape, {1, 2, 3, 4})})[0].data;
  };
  expect_values(apply({1, 2, 2}, {{1}, {2}, Layout::automatic}), {0, 0.5F, 1, 1.5F}, "mean and std");
  expect_values(apply({1, 2, 2}, {{}, {}, Layout::whcn}), {1, 3, 2, 4}, "column-major");
  expect_values(apply({2, 1, 2}, {{}, {}, Layout::automatic}), {1, 3, 2, 4}, "channels last, told from the shape");
  expect_values(apply({2, 1, 2}, {{1, 3}, {1}, Layout::nhwc}), {0, 0, 1, 1}, "per channel");
  EXPECT_EQ(with_preprocessing(model, {5}, {}).error().code, ErrorCode::unreadable);
  const std::string other_size = with_preprocessing(model, {1, 4, 4}, {}).error().message();
  EXPECT_NE(other_size.find("with resize 2 and crop 2"), std::string::npos) << other_size;
  EXPECT_EQ(with_preprocessing(model, {1, 2, 2}, {{1, 2, 3}, {}, Layout::nchw}).error().code, ErrorCode::usage);
  EXPECT_EQ(with_preprocessing(model, {1, 2, 2}, {{}, {0}, Layout::nchw}).error().code, ErrorCode::usage);
}

}  // namespace
}  // namespace probust
