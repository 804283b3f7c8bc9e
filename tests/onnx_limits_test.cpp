// SPDX-License-Identifier: MIT
// Extreme numbers in a file: sizes that a small file may not request, integers at the ends of their range, names used twice.
// Import must return the right value or one Error, quickly and with little memory.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

#include "probust/onnx/import.h"
#include "probust/onnx/lower/lower.h"
#include "support/evaluate.h"
#include "support/imported.h"
#include "support/onnx_builder.h"

namespace probust {
namespace {

using test::OnnxAttribute;
using test::OnnxBuilder;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min(), kLargest = std::numeric_limits<std::int64_t>::max();

void expect_error(const OnnxBuilder& builder, ErrorCode code, const std::string& part) {
  const auto model = test::import_bytes(builder.bytes());
  ASSERT_FALSE(model) << part;
  EXPECT_EQ(model.error().code, code) << model.error().message();
  EXPECT_NE(model.error().message().find(part), std::string::npos) << model.error().message();
}

std::vector<float> logits_of(const OnnxBuilder& builder, const std::vector<float>& x) {
  const auto model = test::import_bytes(builder.bytes());
  EXPECT_TRUE(model) << model.error().message();
  return test::evaluate(model->graph, {Tensor(model->input_shape, x)})[0].data;
}

// All of these files have a few hundred bytes, and tensors below the allowed 2^32 elements.
TEST(OnnxLimits, ASmallFileGetsLittleMemory) {
  OnnxBuilder fill;
  fill.input("x", {1, 4})
      .integers("shape", {46340, 46340})
      .node("ConstantOfShape", {"shape"}, {"c"})
      .node("ReduceSum", {"c"}, {"s"});
  expect_error(fill.node("Add", {"x", "s"}, {"y"}).output("y"), ErrorCode::resources, "ConstantOfShape");
  OnnxBuilder repeat;
  repeat.input("x", {1, 128}).integers("repeats", {1, 1 << 24}).node("Tile", {"x", "repeats"}, {"y"}).output("y");
  expect_error(repeat, ErrorCode::resources, "Tile");
  OnnxBuilder mirror(11);
  mirror.input("x", {1, 4}).integers("pads", {0, 1 << 24, 0, 1 << 24});
  mirror.node("Pad", {"x", "pads"}, {"y"}, {OnnxAttribute::text("mode", "edge")}).output("y");
  expect_error(mirror, ErrorCode::resources, "Pad");
  OnnxBuilder many;  // each tensor is allowed, but not all of them together
  many.input("x", {1, 4}).integers("shape", {1 << 22});
  std::vector<std::string> names{"x"};
  for (int i = 0; i < 20; ++i) {
    const std::string c = "c" + std::to_string(i), s = "s" + std::to_string(i);
    many.node("ConstantOfShape", {"shape"}, {c}).node("ReduceSum", {c}, {s});
    names.push_back(s);
  }
  expect_error(many.node("Sum", names, {"y"}).output("y"), ErrorCode::resources, "constants");
}

TEST(OnnxLimits, ASmallFileGetsLittleTime) {
  OnnxBuilder builder;
  builder.input("x", {1, 1, 1, 1}).weight("one", Tensor({1, 1, 1, 1}, {1})).integers("large", {1, 1, 1500, 1500});
  builder.node("Expand", {"one", "large"}, {"w"})
      .node("Conv", {"w", "w"}, {"c"}, {OnnxAttribute::ints("pads", {750, 750, 750, 750})});
  expect_error(builder.node("ReduceSum", {"c"}, {"s"}).node("Add", {"x", "s"}, {"y"}).output("y"), ErrorCode::resources, "Conv");
}

// The number of padded elements is computed per axis, not with an image of ones.
TEST(OnnxLimits, AveragesOverWidePaddingCostNothing) {
  OnnxBuilder builder;
  builder.input("x", {1, 1, 2, 2});
  builder.node("AveragePool", {"x"}, {"p"},
               {OnnxAttribute::ints("kernel_shape", {2, 2}), OnnxAttribute::ints("pads", {200000, 200000, 0, 0}),
                OnnxAttribute::ints("strides", {200000, 200000}), OnnxAttribute::integer("count_include_pad", 1)});
  builder.node("Flatten", {"p"}, {"y"}).output("y");
  EXPECT_EQ(logits_of(builder, {1, 2, 3, 6}), (std::vector<float>{0, 0, 0, 3}));
}

TEST(OnnxLimits, ManyOperandsDoNotExhaustTheStack) {
  OnnxBuilder builder;
  builder.input("x", {1, 2}).weight("w", Tensor({1}, {1}));
  builder.node("Sum", std::vector<std::string>(100000, "w"), {"s"}).node("Add", {"x", "s"}, {"y"}).output("y");
  EXPECT_EQ(logits_of(builder, {1, 2}), (std::vector<float>{100001, 100002}));
}

TEST(OnnxLimits, ASizeIsComparedWithTheBytesBeforeUse) {
  for (const Shape& shape : {Shape{1LL << 31, 1LL << 31}, Shape{kLargest, kLargest}, Shape{-2}, Shape{kLowest}}) {
    OnnxBuilder builder;
    builder.input("x", {1, 2})
        .initializer(test::encode_tensor(shape, 1, std::string(8, 'a'), "w"))
        .node("Mul", {"x", "w"}, {"y"})
        .output("y");
    expect_error(builder, ErrorCode::unreadable, "tensor 'w'");
  }
}

TEST(OnnxLimits, AttributesAtTheEndsOfTheirRange) {
  OnnxBuilder split(9);
  split.input("x", {1, 4})
      .node("Split", {"x"}, {"y", "z"}, {OnnxAttribute::ints("split", {2, kLargest}), OnnxAttribute::integer("axis", 1)});
  expect_error(split.output("y"), ErrorCode::unreadable, "Split");
  OnnxBuilder pad(9);
  pad.input("x", {1, 4}).node("Pad", {"x"}, {"y"}, {OnnxAttribute::ints("pads", {0, kLowest, 0, 1})}).output("y");
  expect_error(pad, ErrorCode::unreadable, "Pad");
  OnnxBuilder flatten;
  flatten.input("x", {1, 4}).node("Flatten", {"x"}, {"y"}, {OnnxAttribute::integer("axis", kLowest)}).output("y");
  expect_error(flatten, ErrorCode::unreadable, "Flatten");
}

TEST(OnnxLimits, OperatorsOnEmptyTensors) {
  OnnxBuilder normalization;
  normalization.input("x", {6})
      .weight("e", Tensor(Shape{0}))
      .node("BatchNormalization", {"x", "e", "e", "e", "e"}, {"y"})
      .output("y");
  expect_error(normalization, ErrorCode::unreadable, "BatchNormalization");
  OnnxBuilder slice;  // an empty slice, backwards
  slice.input("x", {1, 2})
      .weight("e", Tensor({1, 0}))
      .integers("start", {0})
      .integers("end", {-5})
      .integers("axis", {1})
      .integers("step", {-1});
  slice.node("Slice", {"e", "start", "end", "axis", "step"}, {"s"})
      .node("Concat", {"s", "x"}, {"y"}, {OnnxAttribute::integer("axis", 1)});
  EXPECT_EQ(logits_of(slice.output("y"), {3, 4}), (std::vector<float>{3, 4}));
  for (const std::string mode : {"edge", "reflect", "wrap"}) {
    OnnxBuilder pad(19);
    pad.input("x", {1, 2})
        .weight("e", Tensor({1, 0}))
        .integers("pads", {0, 1, 0, 1})
        .node("Pad", {"e", "pads"}, {"p"}, {OnnxAttribute::text("mode", mode)});
    expect_error(pad.node("Add", {"x", "p"}, {"y"}).output("y"), ErrorCode::unreadable, "Pad");
  }
}

// Without this check, the second definition would silently replace the first.
TEST(OnnxLimits, ANameIsGivenOnce) {
  OnnxBuilder weights;
  weights.input("x", {1, 2})
      .weight("w", Tensor({2}, {1, 1}))
      .weight("w", Tensor({2}, {5, 5}))
      .node("Add", {"x", "w"}, {"y"})
      .output("y");
  expect_error(weights, ErrorCode::unreadable, "'w'");
  OnnxBuilder outputs;
  outputs.input("x", {1, 2}).node("Relu", {"x"}, {"y"}).node("Neg", {"x"}, {"y"}).output("y");
  expect_error(outputs, ErrorCode::unreadable, "'y'");
  OnnxBuilder input;
  input.input("x", {1, 2}).node("Neg", {"x"}, {"x"}).node("Relu", {"x"}, {"y"}).output("y");
  expect_error(input, ErrorCode::unreadable, "'x'");
}

// Integers are exact or rejected, never rounded.
TEST(OnnxLimits, IntegersAreExactOrRefused) {
  const auto square_of = [](std::int64_t n) {
    OnnxBuilder builder;
    builder.input("x", {1, 2}).integers("n", {n}).node("Mul", {"n", "n"}, {"s"});
    return builder.node("Cast", {"s"}, {"f"}, {OnnxAttribute::integer("to", 1)}).node("Add", {"x", "f"}, {"y"}).output("y");
  };
  EXPECT_EQ(logits_of(square_of(4096), {0, 0})[0], 16777216.0F);
  expect_error(square_of(4097), ErrorCode::unsupported, "2^24");
  OnnxBuilder quotient;  // 16777215 / 4096 is just below 4096
  quotient.input("x", {1, 2}).integers("a", {16777215}).integers("b", {4096}).node("Div", {"a", "b"}, {"q"});
  quotient.node("Cast", {"q"}, {"f"}, {OnnxAttribute::integer("to", 1)}).node("Add", {"x", "f"}, {"y"}).output("y");
  EXPECT_EQ(logits_of(quotient, {0, 0})[0], 4095.0F);
  OnnxBuilder largest;  // the largest uint64 is not -1
  largest.input("x", {1, 2}).initializer(test::encode_tensor({1}, 13, std::string(8, '\xff'), "w"));
  largest.node("Cast", {"w"}, {"f"}, {OnnxAttribute::integer("to", 1)}).node("Mul", {"x", "f"}, {"y"}).output("y");
  EXPECT_GT(logits_of(largest, {1, 1})[0], 9e18F);
}

TEST(OnnxLimits, AnOutputThatIsNotComputedIsRefusedOnlyWhereItIsRead) {
  OnnxBuilder unread;
  unread.input("x", {1, 1, 2, 2}).node("MaxPool", {"x"}, {"p", "indices"}, {OnnxAttribute::ints("kernel_shape", {2, 1})});
  EXPECT_EQ(logits_of(unread.node("Flatten", {"p"}, {"y"}).output("y"), {1, 2, 3, 4}), (std::vector<float>{3, 4}));
  OnnxBuilder read(10);
  read.input("x", {1, 1, 2}).weight("w", Tensor({1}, {1}));
  read.node("BatchNormalization", {"x", "w", "w", "w", "w"}, {"n", "mean"}).node("Mul", {"n", "mean"}, {"y"}).output("y");
  expect_error(read, ErrorCode::unsupported, "'mean'");
}

TEST(OnnxLimits, AnAttributeOfTheWrongTypeIsRefused) {
  OnnxBuilder builder;
  builder.input("x", {1, 3}).node("Flatten", {"x"}, {"y"}, {OnnxAttribute::number("axis", 1)}).output("y");
  expect_error(builder, ErrorCode::unreadable, "attribute axis");
}

// Generates operators with unsuitable operands, and with attributes from a pool of extreme numbers.
class Hostile {
 public:
  explicit Hostile(unsigned seed) : random_(seed) {}

  OnnxBuilder model() {
    OnnxBuilder builder(std::array{7, 9, 11, 13, 18, 21, 24}[pick(7)]);
    builder.input("x", shape());
    names_ = {"x", ""};
    for (int i = 0; i < 3; ++i) builder.weight(add("w"), test::random_tensor(shape(), random_, -3, 3));
    for (int i = 0; i < 4; ++i) builder.integers(add("i"), numbers(6));
    const std::size_t nodes = 1 + pick(3);
    for (std::size_t i = 0; i < nodes; ++i) add_node(builder);
    builder.node("Flatten", {names_.back()}, {"flat"}).node("Sum", {"flat", "x"}, {"y"});
    return builder.output("flat").output("y");
  }

 private:
  std::size_t pick(std::size_t below) { return random_() % below; }

  std::string add(const std::string& stem) { return names_.emplace_back(stem + std::to_string(names_.size())); }

  std::int64_t number() {
    static const std::array<std::int64_t, 12> extreme = {7,         65536,       1LL << 24, 1LL << 30, (1LL << 31) - 1,
                                                         1LL << 32, 1LL << 40,   1LL << 62, kLargest,  kLowest + 1,
                                                         kLowest,   -(1LL << 31)};
    return pick(3) != 0 ? static_cast<std::int64_t>(pick(6)) - 2 : extreme[pick(extreme.size())];
  }

  std::vector<std::int64_t> numbers(std::size_t most) {
    std::vector<std::int64_t> values(pick(most + 1));
    for (std::int64_t& value : values) value = number();
    return values;
  }

  Shape shape() {
    static const std::vector<Shape> shapes = {{1, 2, 3, 4}, {1, 2, 3}, {1, 6},          {6},    {},
                                              {1, 0, 2},    {0},       {1, 2, 2, 2, 2}, {2, 2}, {1, 3, 5, 5}};
    return shapes[pick(shapes.size())];
  }

  void add_node(OnnxBuilder& builder) {
    std::vector<OnnxAttribute> attributes;
    const std::size_t calm = pick(3) == 0 ? 1 : 12;  // most nodes have few extreme attributes
    for (const char* name : {"axis",        "group",
                             "ceil_mode",   "count_include_pad",
                             "keepdims",    "to",
                             "start",       "end",
                             "transA",      "noop_with_empty_axes",
                             "blocksize",   "num_groups",
                             "size",        "p",
                             "k",           "batch_dims",
                             "q_num_heads", "kv_num_heads",
                             "is_causal",   "select_last_index",
                             "keepdims",    "storage_order",
                             "targets",     "n_targets"}) {
      if (pick(5 * calm) == 0) attributes.push_back(OnnxAttribute::integer(name, number()));
    }
    for (const char* name : {"kernel_shape",
                             "strides",
                             "pads",
                             "dilations",
                             "axes",
                             "starts",
                             "ends",
                             "split",
                             "perm",
                             "output_padding",
                             "output_shape",
                             "cats_int64s",
                             "classlabels_ints",
                             "classlabels_int64s",
                             "vectors_per_class",
                             "tree_roots",
                             "nodes_treeids",
                             "nodes_nodeids",
                             "nodes_featureids",
                             "nodes_truenodeids",
                             "nodes_falsenodeids"}) {
      if (pick(3 * calm) == 0) attributes.push_back(OnnxAttribute::ints(name, numbers(6)));
    }
    const std::array modes = {"constant", "reflect", "edge", "wrap"}, paddings = {"SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"};
    if (pick(3 * calm) == 0) attributes.push_back(OnnxAttribute::text("mode", modes[pick(4)]));
    if (pick(3 * calm) == 0) attributes.push_back(OnnxAttribute::text("auto_pad", paddings[pick(4)]));
    const std::array equations = {"ij,jk->ik", "ii->i", "...i,...j", "a.b", "ijk->", "->"};
    if (pick(2) == 0) attributes.push_back(OnnxAttribute::text("equation", equations[pick(6)]));
    const std::array resizings = {"nearest", "linear", "cubic", "DCR", "CRD"};
    if (pick(4 * calm) == 0) attributes.push_back(OnnxAttribute::text("mode", resizings[pick(5)]));
    if (pick(3 * calm) == 0) attributes.push_back(OnnxAttribute::text("reduction", pick(2) == 0 ? "add" : "mul"));
    for (const char* name : {"coefficients", "intercepts", "rho", "support_vectors", "scales", "scale", "offset", "prob_a"}) {
      if (pick(3) == 0)
        attributes.push_back(
            OnnxAttribute::numbers(name, test::random_tensor({static_cast<std::int64_t>(pick(7))}, random_, -3, 3).data));
    }
    std::vector<std::string> operands{pick(2) == 0 ? names_.back() : names_[pick(names_.size())]};
    for (std::size_t i = pick(5); i > 0; --i) operands.push_back(names_[pick(names_.size())]);
    const std::string second = add("t"), first = add("t");
    const std::vector<std::string> outputs{first, second};
    const auto families = onnx::operator_families();
    const onnx::OperatorFamily& family = families[pick(families.size())];
    const onnx::OnnxOperator& op = family.operators[pick(family.operators.size())];
    builder.node(std::string(op.op_type), operands, outputs, attributes, std::string(family.domain));
  }

  std::mt19937 random_;
  std::vector<std::string> names_;
};

TEST(OnnxLimits, HostileOperatorsAreRefusedOrRun) {
  int imported = 0;
  for (unsigned seed = 0; seed < 8000; ++seed) {
    const auto model = test::import_bytes(Hostile(seed).model().bytes());
    if (!model) {
      EXPECT_FALSE(model.error().problem.empty()) << "seed " << seed;
      continue;
    }
    ++imported;
    std::int64_t elements = 0;
    for (const Node& node : model->graph.nodes) elements += element_count(node.shape);
    if (elements < 100000) test::evaluate(model->graph, {Tensor(model->input_shape)});
  }
  EXPECT_GT(imported, 100);  // the generator also produces valid models
}

}  // namespace
}  // namespace probust
