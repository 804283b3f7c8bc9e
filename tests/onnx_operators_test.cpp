// SPDX-License-Identifier: MIT
// Compares every ONNX operator of the import tables with values computed by hand, with at least one row per operator. If an
// operator has no row, the test fails with its name.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "probust/autodiff/vjp.h"
#include "probust/onnx/import.h"
#include "probust/onnx/lower/lower.h"
#include "support/evaluate.h"
#include "support/onnx_builder.h"

namespace probust {
namespace {

using test::OnnxAttribute;
using test::OnnxBuilder;
using Attribute = OnnxAttribute;
using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// One operand of the node under test: the model's input, a constant, or omitted.
struct Operand {
  enum Kind { x, floats, integers, absent } kind = x;
  Tensor tensor;
  Integers values;
};
Operand x() { return {}; }
Operand none() { return {Operand::absent, {}, {}}; }
Operand f(Shape shape, Floats values) { return {Operand::floats, Tensor(std::move(shape), std::move(values)), {}}; }
Operand i(Integers values) { return {Operand::integers, {}, std::move(values)}; }

Operand i2(Shape shape, Integers values) { return {Operand::integers, Tensor(std::move(shape)), std::move(values)}; }

struct OperatorCase {
  std::string op;
  Shape shape;  ///< of the input
  Floats input;
  std::vector<Operand> operands;
  Floats expected;  ///< output 0, flattened
  std::vector<Attribute> attributes = {};
  std::int64_t opset = 17;
};

// A graph without inputs whose output is one constant.
Attribute branch(const std::string& name, float value) {
  OnnxBuilder body;
  body.node("Constant", {}, {"chosen"}, {Attribute::number("value_float", value)}).output("chosen");
  return Attribute::graph(name, body.graph());
}

Attribute value_seven() { return Attribute::tensor("value", test::encode_tensor({1}, 7, test::raw_bytes(Integers{7}))); }

Attribute kernel(const Integers& shape) { return Attribute::ints("kernel_shape", shape); }
Attribute axis(std::int64_t a) { return Attribute::integer("axis", a); }
Attribute axes(const Integers& a) { return Attribute::ints("axes", a); }
Attribute without_keeping() { return Attribute::integer("keepdims", 0); }

// Several functions, because compilers need minutes for one long table.

// Functions of elements.
std::vector<OperatorCase> elementwise_cases() {
  const float e = std::exp(1.F), log_3 = std::log(3.F);
  return {
      {"Abs", {1, 2}, {-1, 2}, {x()}, {1, 2}},
      {"Cos", {1, 2}, {0, 1}, {x()}, {1, 0.5403023F}},
      {"Elu", {1, 2}, {-1, 2}, {x()}, {2 * (1 / e - 1), 2}, {Attribute::number("alpha", 2)}},
      {"Erf", {1, 2}, {0, 1}, {x()}, {0, 0.8427008F}},
      {"Exp", {1, 2}, {0, 1}, {x()}, {1, e}},
      {"Gelu", {1, 2}, {0, 1}, {x()}, {0, 0.8413447F}, {}, 20},
      {"HardSigmoid",
       {1, 3},
       {-9, 1, 9},
       {x()},
       {0, 0.75F, 1},
       {Attribute::number("alpha", 0.5F), Attribute::number("beta", 0.25F)}},
      {"HardSwish", {1, 3}, {-4, 1, 4}, {x()}, {0, 2.F / 3, 4}},
      {"LeakyRelu", {1, 2}, {-1, 1}, {x()}, {-0.01F, 1}},
      {"Log", {1, 2}, {1, e}, {x()}, {0, 1}},
      {"Celu", {1, 2}, {-2, 3}, {x()}, {2 * (1 / e - 1), 3}, {Attribute::number("alpha", 2)}},
      {"Ceil", {1, 2}, {-1.5F, 1.5F}, {x()}, {-1, 2}},
      {"Floor", {1, 2}, {-1.5F, 1.5F}, {x()}, {-2, 1}},
      {"IsInf", {1, 1}, {0}, {f({3}, {1, kInfinity, -kInfinity})}, {0, 1, 1}},
      {"IsInf", {1, 1}, {0}, {f({3}, {1, kInfinity, -kInfinity})}, {0, 0, 1}, {Attribute::integer("detect_positive", 0)}},
      {"IsNaN", {1, 1}, {0}, {f({2}, {NAN, kInfinity})}, {1, 0}},
      {"Round", {1, 3}, {0.5F, 1.5F, -2.7F}, {x()}, {0, 2, -3}},
      {"Shrink", {1, 3}, {-2, 0.1F, 2}, {x()}, {-1, 0, 1}, {Attribute::number("bias", 1)}},
      {"Tan", {1, 1}, {1}, {x()}, {1.5574077F}},
      {"ThresholdedRelu", {1, 3}, {-2, 1, 2}, {x()}, {0, 0, 2}},
      {"Mish", {1, 1}, {1}, {x()}, {0.8650984F}, {}, 18},
      {"Neg", {1, 2}, {-1, 2}, {x()}, {1, -2}},
      {"PRelu", {1, 2, 1, 2}, {-1, 2, -3, -4}, {x(), f({2, 1, 1}, {0.5F, 10})}, {-0.5F, 2, -30, -40}},
      {"Reciprocal", {1, 2}, {2, -4}, {x()}, {0.5F, -0.25F}},
      {"Relu", {1, 2}, {-1, 2}, {x()}, {0, 2}},
      {"Selu", {1, 1}, {2}, {x()}, {2.1014020F}},
      {"Sigmoid", {1, 2}, {0, log_3}, {x()}, {0.5F, 0.75F}},
      {"Sign", {1, 3}, {-2, 0, 3}, {x()}, {-1, 0, 1}},
      {"Sin", {1, 2}, {0, 1}, {x()}, {0, 0.8414710F}},
      {"Softplus", {1, 2}, {0, 100}, {x()}, {0.6931472F, 100}},
      {"Softsign", {1, 2}, {-1, 3}, {x()}, {-0.5F, 0.75F}},
      {"Sqrt", {1, 2}, {4, 9}, {x()}, {2, 3}},
      {"Swish", {1, 2}, {0, log_3}, {x()}, {0, 0.75F * log_3}},
      {"Tanh", {1, 2}, {0, 1}, {x()}, {0, 0.7615942F}},
      // Bounds are attributes before opset 11 and operands since then; each is optional.
      {"Clip", {1, 3}, {-2, 0, 2}, {x()}, {-2, 0, 1}, {Attribute::number("max", 1)}, 10},
      {"Clip", {1, 3}, {-2, 0, 2}, {x(), none(), f({}, {1})}, {-2, 0, 1}, {}, 13},
      {"Clip", {1, 3}, {-2, 0, 2}, {x(), f({}, {-1})}, {-1, 0, 2}, {}, 13},
      {"Clip", {1, 3}, {-2, 0, 2}, {x()}, {-2, 0, 2}, {}, 13},
  };
}

// Operators with two or more operands, with broadcasting.
std::vector<OperatorCase> broadcast_cases() {
  return {
      {"Add", {1, 2}, {1, 2}, {x(), f({2, 1}, {10, 20})}, {11, 12, 21, 22}},
      {"Sub", {1, 2}, {1, 2}, {f({}, {10}), x()}, {9, 8}},
      {"Mul", {1, 2}, {1, 2}, {x(), f({2}, {3, 4})}, {3, 8}},
      {"Div", {1, 2}, {1, 3}, {x(), f({1}, {2})}, {0.5F, 1.5F}},
      {"Div", {1, 1}, {0}, {i({7, -7, 8}), i({2})}, {3, -3, 4}},
      {"Mod", {1, 2}, {-7, 7}, {x(), f({}, {3})}, {2, 1}},
      {"Mod", {1, 2}, {-7, 7}, {x(), f({}, {3})}, {-1, 1}, {Attribute::integer("fmod", 1)}},
      {"Pow", {1, 2}, {-3, 2}, {x(), f({}, {2})}, {9, 4}},
      {"Pow", {1, 2}, {-3, 2}, {x(), f({}, {3})}, {-27, 8}},
      {"Max", {1, 2}, {1, 5}, {x(), f({2}, {3, 3}), f({}, {2})}, {3, 5}},
      {"Min", {1, 2}, {1, 5}, {x(), f({2}, {3, 3})}, {1, 3}},
      {"Min", {1, 2}, {1, 5}, {x()}, {1, 5}},
      {"Sum", {1, 2}, {1, 5}, {x(), x(), f({}, {1})}, {3, 11}},
      {"Mean", {1, 2}, {1, 5}, {x(), f({}, {3})}, {2, 4}},
      // Comparisons and choices.
      {"Equal", {1, 3}, {1, 2, 3}, {x(), f({}, {2})}, {0, 1, 0}},
      {"Less", {1, 3}, {1, 2, 3}, {x(), f({}, {2})}, {1, 0, 0}},
      {"LessOrEqual", {1, 3}, {1, 2, 3}, {x(), f({}, {2})}, {1, 1, 0}},
      {"Greater", {1, 3}, {1, 2, 3}, {x(), f({}, {2})}, {0, 0, 1}},
      {"GreaterOrEqual", {1, 3}, {1, 2, 3}, {x(), f({}, {2})}, {0, 1, 1}},
      {"And", {1, 1}, {0}, {i({1, 1, 0}), i({1, 0, 0})}, {1, 0, 0}},
      {"Or", {1, 1}, {0}, {i({1, 1, 0}), i({1, 0, 0})}, {1, 1, 0}},
      {"Xor", {1, 1}, {0}, {i({1, 1, 0}), i({1, 0, 0})}, {0, 1, 0}},
      {"Not", {1, 1}, {0}, {i({1, 0})}, {0, 1}},
      {"Where", {1, 3}, {1, 2, 3}, {i({1, 0, 1}), x(), f({}, {9})}, {1, 9, 3}},
      {"Where", {1, 3}, {1, 2, 3}, {i({1, 0, 1}), x(), f({3}, {-kInfinity, -kInfinity, -kInfinity})}, {1, -kInfinity, 3}},
      {"Where", {1, 3}, {1, 2, 3}, {i({0, 1, 0}), f({}, {kInfinity}), x()}, {1, kInfinity, 3}},
  };
}

// Products.
std::vector<OperatorCase> product_cases() {
  return {
      {"Gemm",
       {1, 2},
       {1, -1},
       {x(), f({2, 2}, {1, 2, 3, 5}), f({}, {4})},
       {0, -2},
       {Attribute::number("alpha", 2), Attribute::number("beta", 0.5F), Attribute::integer("transB", 1)}},
      {"Gemm", {2, 1}, {1, -1}, {x(), f({2, 2}, {1, 2, 3, 5})}, {-2, -3}, {Attribute::integer("transA", 1)}},
      {"MatMul", {1, 2}, {1, 2}, {x(), f({2, 2}, {1, 2, 3, 4})}, {7, 10}},
      {"MatMul", {2}, {1, 2}, {x(), f({2}, {3, 4})}, {11}},
      {"MatMul", {2}, {1, 2}, {f({2, 1, 2}, {1, 0, 0, 1}), x()}, {1, 2}},
      {"MatMul", {2}, {1, 2}, {x(), f({2, 2, 1}, {1, 2, 3, 4})}, {5, 11}},
  };
}

// Reductions. Axes are an attribute or an operand; before opset 13, softmax flattens its input.
std::vector<OperatorCase> reduction_cases() {
  const float log_3 = std::log(3.F);
  return {
      {"ReduceSum", {1, 2, 2}, {1, 2, 3, 4}, {x()}, {4, 6}, {axes({1}), without_keeping()}, 11},
      {"ReduceSum", {1, 2, 2}, {1, 2, 3, 4}, {x(), i({-1})}, {3, 7}, {}, 13},
      {"ReduceSum", {1, 2, 2}, {1, 2, 3, 4}, {x()}, {10}, {}, 13},
      {"ReduceSum", {1, 2, 2}, {1, 2, 3, 4}, {x()}, {1, 2, 3, 4}, {Attribute::integer("noop_with_empty_axes", 1)}, 13},
      {"ReduceMean", {1, 2, 2}, {1, 2, 3, 4}, {x(), i({1, 2})}, {2.5F}, {}, 18},
      {"ReduceSumSquare", {1, 2}, {3, 4}, {x()}, {25}},
      {"ReduceL2", {1, 2}, {3, 4}, {x()}, {5}},
      {"ReduceL1", {1, 2}, {3, -4}, {x()}, {7}},
      {"ReduceLogSum", {1, 2}, {1, 2}, {x()}, {log_3}},
      {"ReduceLogSumExp", {1, 2}, {100, 100}, {x()}, {100.6931472F}},
      {"ReduceMax", {1, 2, 2}, {1, 5, 3, 4}, {x(), i({1})}, {3, 5}, {}, 18},
      {"ReduceMin", {1, 2, 2}, {1, 5, 3, 4}, {x()}, {1, 3}, {axes({-1}), without_keeping()}},
      {"ReduceProd", {1, 3}, {2, -3, 4}, {x()}, {-24}},
      {"Softmax", {1, 2, 2}, {0, 0, 0, log_3}, {x()}, {1 / 6.F, 1 / 6.F, 1 / 6.F, 0.5F}, {}, 11},
      {"Softmax", {1, 2, 2}, {0, 0, 0, log_3}, {x()}, {0.5F, 0.5F, 0.25F, 0.75F}, {}, 13},
      {"Softmax", {1, 2, 2}, {0, 0, 0, log_3}, {x()}, {0.5F, 0.25F, 0.5F, 0.75F}, {axis(-2)}, 13},
      {"LogSoftmax", {1, 2}, {0, log_3}, {x()}, {std::log(0.25F), std::log(0.75F)}, {}, 13},
  };
}

// Windows.
std::vector<OperatorCase> window_cases() {
  return {
      {"Conv", {1, 1, 4}, {1, 2, 3, 4}, {x(), f({1, 1, 2}, {1, -1}), f({1}, {10})}, {8, 8}, {Attribute::ints("dilations", {2})}},
      {"Conv", {1, 1, 1, 2, 2}, {1, 2, 3, 4}, {x(), f({1, 1, 1, 2, 2}, {1, 2, 3, 4})}, {30}},
      {"Conv",
       {1, 1, 2, 3},
       {1, 2, 3, 4, 5, 6},
       {x(), f({1, 1, 2, 2}, {1, 1, 1, 1})},
       {12, 16},
       {Attribute::text("auto_pad", "VALID")}},
      {"Conv",
       {1, 1, 5},
       {1, 2, 3, 4, 5},
       {x(), f({1, 1, 3}, {1, 1, 1})},
       {3, 9, 9},
       {Attribute::text("auto_pad", "SAME_UPPER"), Attribute::ints("strides", {2})}},
      {"ConvTranspose",
       {1, 1, 2},
       {1, 2},
       {x(), f({1, 1, 2}, {1, 10}), f({1}, {100})},
       {101, 110, 102, 120},
       {Attribute::ints("strides", {2})}},
      {"ConvTranspose",
       {1, 1, 2},
       {1, 2},
       {x(), f({1, 1, 2}, {1, 10})},
       {12, 20},
       {Attribute::ints("strides", {1}), Attribute::ints("pads", {1, 0}), Attribute::ints("output_padding", {0})}},
      {"MaxPool", {1, 1, 4}, {4, 1, 3, 9}, {x()}, {4, 9}, {kernel({2}), Attribute::ints("dilations", {2})}},
      {"MaxPool", {1, 1, 3}, {-1, -2, -3}, {x()}, {-1, -1, -2}, {kernel({2}), Attribute::ints("pads", {1, 0})}},
      {"AveragePool", {1, 1, 3}, {1, 2, 6}, {x()}, {1.5F, 3, 4}, {kernel({3}), Attribute::text("auto_pad", "SAME_UPPER")}},
      {"AveragePool",
       {1, 1, 3},
       {1, 2, 6},
       {x()},
       {1, 3, 8.F / 3},
       {kernel({3}), Attribute::ints("pads", {1, 1}), Attribute::integer("count_include_pad", 1)}},
      // Padding added by ceil_mode never counts, explicit padding does.
      {"AveragePool",
       {1, 1, 4},
       {1, 2, 3, 4},
       {x()},
       {1, 3},
       {kernel({3}), Attribute::ints("pads", {1, 0}), Attribute::ints("strides", {2}),
        Attribute::integer("count_include_pad", 1)}},
      {"AveragePool",
       {1, 1, 4},
       {1, 2, 3, 4},
       {x()},
       {2, 3.5F},
       {kernel({3}), Attribute::ints("strides", {2}), Attribute::integer("ceil_mode", 1),
        Attribute::integer("count_include_pad", 1)}},
      {"AveragePool", {1, 1, 5}, {1, 2, 3, 4, 5}, {x()}, {2, 3, 4}, {kernel({2}), Attribute::ints("dilations", {2})}, 19},
      {"GlobalAveragePool", {1, 2, 2}, {1, 3, 5, 9}, {x()}, {2, 7}},
      {"GlobalMaxPool", {1, 2, 2}, {1, 3, 5, 9}, {x()}, {3, 9}},
      {"BatchNormalization",
       {1, 2},
       {1, 2},
       {x(), f({2}, {2, 3}), f({2}, {1, 1}), f({2}, {0, 1}), f({2}, {4, 1})},
       {2, 4},
       {Attribute::number("epsilon", 0)}},
      {"LpPool", {1, 1, 3}, {3, -4, 12}, {x()}, {5, std::sqrt(160.F)}, {kernel({2})}},
      {"LpPool", {1, 1, 3}, {3, -4, 12}, {x()}, {7, 16}, {kernel({2}), Attribute::integer("p", 1)}},
      {"LpPool", {1, 1, 2}, {1, 2}, {x()}, {std::cbrt(9.F)}, {kernel({2}), Attribute::integer("p", 3)}},
      {"GlobalLpPool", {1, 1, 2}, {3, -4}, {x()}, {5}},
      {"ConvTranspose",
       {1, 1, 2},
       {1, 2},
       {x(), f({1, 1, 3}, {1, 10, 100})},
       {10, 102, 20, 200},
       {Attribute::ints("strides", {2}), Attribute::text("auto_pad", "SAME_LOWER")}},
      {"ConvTranspose",
       {1, 1, 2},
       {1, 2},
       {x(), f({1, 1, 2}, {1, 10}), f({1}, {100})},
       {101, 102, 110, 120, 100},
       {Attribute::ints("dilations", {2}), Attribute::ints("output_padding", {1})}},
      {"ConvTranspose",
       {1, 1, 2},
       {1, 2},
       {x(), f({1, 1, 2}, {1, 10})},
       {1, 2, 10, 20},
       {Attribute::ints("dilations", {2}), Attribute::ints("output_padding", {1}), Attribute::ints("pads", {0, 1})}},
      {"ConvTranspose",
       {1, 1, 2},
       {1, 2},
       {x(), f({1, 1, 2}, {1, 10})},
       {10, 2, 20, 0},
       {Attribute::ints("strides", {2}), Attribute::ints("output_padding", {1}), Attribute::ints("output_shape", {4})}},
  };
}

// Normalisation.
std::vector<OperatorCase> normalisation_cases() {
  return {
      {"LayerNormalization", {1, 2}, {1, 3}, {x(), f({2}, {2, 3}), f({2}, {10, 20})}, {8, 23}, {Attribute::number("epsilon", 0)}},
      {"RMSNormalization",
       {1, 2},
       {3, 4},
       {x(), f({2}, {1, 10})},
       {3 / std::sqrt(12.5F), 40 / std::sqrt(12.5F)},
       {Attribute::number("epsilon", 0)},
       23},
      {"InstanceNormalization",
       {1, 2, 2},
       {1, 3, 4, 8},
       {x(), f({2}, {1, 2}), f({2}, {0, 1})},
       {-1, 1, -1, 3},
       {Attribute::number("epsilon", 0)}},
      {"GroupNormalization",
       {1, 2, 1},
       {1, 3},
       {x(), f({1}, {2}), f({1}, {5})},
       {3, 7},
       {Attribute::integer("num_groups", 1), Attribute::number("epsilon", 0)},
       18},
      {"GroupNormalization",
       {1, 2, 1},
       {1, 3},
       {x(), f({2}, {2, 3}), f({2}, {5, 0})},
       {3, 3},
       {Attribute::integer("num_groups", 1), Attribute::number("epsilon", 0)},
       21},
      {"LpNormalization", {2, 2}, {3, 4, 0, 0}, {x()}, {0.6F, 0.8F, 0, 0}},
      {"LpNormalization", {1, 2}, {3, -1}, {x()}, {0.75F, -0.25F}, {Attribute::integer("p", 1)}},
      {"LRN",
       {1, 3, 1},
       {1, 2, 3},
       {x()},
       {1.F / 6, 2.F / 15, 3.F / 14},
       {Attribute::integer("size", 3), Attribute::number("alpha", 3), Attribute::number("beta", 1)}},
      {"MeanVarianceNormalization", {1, 1, 1, 2}, {1, 3}, {x()}, {-1, 1}},
  };
}

// Attention with one head and keys along an axis. The mask hides the second key.
std::vector<OperatorCase> attention_cases() {
  const float log_3 = std::log(3.F);
  return {
      {"Attention",
       {1, 1, 1, 2},
       {log_3, 0},
       {x(), f({1, 1, 2, 2}, {1, 0, 0, 1}), f({1, 1, 2, 1}, {4, 8})},
       {5},
       {Attribute::number("scale", 1)},
       23},
      {"Attention",
       {1, 1, 1, 2},
       {log_3, 0},
       {x(), f({1, 1, 2, 2}, {1, 0, 0, 1}), f({1, 1, 2, 1}, {4, 8}), f({1, 2}, {0, -kInfinity})},
       {4},
       {},
       23},
      {"Attention",
       {1, 1, 1, 2},
       {log_3, 0},
       {x(), f({1, 1, 2, 2}, {1, 0, 0, 1}), f({1, 1, 2, 1}, {4, 8})},
       {4},
       {Attribute::integer("is_causal", 1)},
       23},
      // Sums of products.
      {"Einsum", {2, 2}, {1, 2, 3, 4}, {x(), f({2}, {1, 10})}, {21, 43}, {Attribute::text("equation", "ij,j->i")}},
      {"Einsum", {2, 2}, {1, 2, 3, 4}, {x()}, {5}, {Attribute::text("equation", "ii")}},
      {"Einsum", {2, 2}, {1, 2, 3, 4}, {x()}, {1, 3, 2, 4}, {Attribute::text("equation", "ij->ji")}},
      {"Einsum", {1, 2, 2}, {1, 2, 3, 4}, {x(), f({2, 1}, {1, 10})}, {21, 43}, {Attribute::text("equation", "...j,jk->...k")}},
      {"Einsum",
       {1, 2},
       {1, 2},
       {x(), f({2}, {1, 10}), f({3}, {1, 2, 3})},
       {21, 42, 63},
       {Attribute::text("equation", "bi,i,k->bk")}},
  };
}

// Positions.
std::vector<OperatorCase> position_cases() {
  return {
      {"ArgMax", {1, 3}, {1, 5, 5}, {x()}, {1}, {axis(1)}},
      {"ArgMax", {1, 3}, {1, 5, 5}, {x()}, {2}, {axis(1), Attribute::integer("select_last_index", 1)}},
      {"ArgMin", {2, 2}, {1, 5, 0, 6}, {x()}, {1, 0}, {axis(0), without_keeping()}},
      {"Hardmax", {1, 3}, {1, 5, 5}, {x()}, {0, 1, 0}, {}, 13},
      {"TopK", {1, 4}, {3, 1, 4, 1}, {x(), i({2})}, {4, 3}},
      {"TopK", {1, 4}, {3, 1, 4, 1}, {x(), i({2})}, {1, 1}, {Attribute::integer("largest", 0)}},
      {"GatherElements", {2, 2}, {1, 2, 3, 4}, {x(), i2({2, 1}, {1, -2})}, {2, 3}, {axis(1)}},
      {"GatherND", {2, 2}, {1, 2, 3, 4}, {x(), i2({2, 2}, {0, 1, 1, 0})}, {2, 3}},
      {"GatherND", {2, 2}, {1, 2, 3, 4}, {x(), i2({1, 1}, {-1})}, {3, 4}},
      {"GatherND", {2, 2}, {1, 2, 3, 4}, {x(), i2({2, 1}, {1, 0})}, {2, 3}, {Attribute::integer("batch_dims", 1)}},
      {"ScatterElements", {1, 3}, {1, 2, 3}, {x(), i2({1, 2}, {2, 0}), f({1, 2}, {8, 9})}, {9, 2, 8}, {axis(1)}},
      {"Scatter", {1, 3}, {1, 2, 3}, {x(), i2({1, 1}, {-1}), f({1, 1}, {8})}, {1, 2, 8}, {axis(1)}, 9},
      {"ScatterElements",
       {1, 3},
       {1, 2, 3},
       {x(), i2({1, 2}, {1, 1}), f({1, 2}, {8, 9})},
       {1, 144, 3},
       {axis(1), Attribute::text("reduction", "mul")},
       18},
      {"ScatterND", {2, 2}, {1, 2, 3, 4}, {x(), i2({1, 1}, {1}), f({1, 2}, {8, 9})}, {1, 2, 8, 9}},
      {"ScatterND",
       {2, 2},
       {1, 2, 3, 4},
       {x(), i2({2, 2}, {0, 0, 0, 0}), f({2}, {8, 9})},
       {18, 2, 3, 4},
       {Attribute::text("reduction", "add")}},
      {"OneHot", {1, 2}, {1, -1}, {x(), i({3}), f({2}, {5, 7})}, {5, 7, 5, 5, 5, 7}},
      {"NonZero", {1, 1}, {0}, {i({0, 4, 5})}, {1, 2}},
      {"Trilu", {2, 2}, {1, 2, 3, 4}, {x()}, {1, 2, 0, 4}},
      {"Trilu", {2, 2}, {1, 2, 3, 4}, {x(), i({-1})}, {0, 0, 3, 0}, {Attribute::integer("upper", 0)}},
      {"CumSum", {1, 3}, {1, 2, 3}, {x(), i({1})}, {1, 3, 6}},
      {"CumSum",
       {1, 3},
       {1, 2, 3},
       {x(), i({1})},
       {5, 3, 0},
       {Attribute::integer("exclusive", 1), Attribute::integer("reverse", 1)}},
  };
}

// Resizing uses half-pixel centres by default; older operators count from the corner.
std::vector<OperatorCase> resize_cases() {
  return {
      {"Resize", {1, 1, 2}, {1, 3}, {x(), none(), f({3}, {1, 1, 2})}, {1, 1, 3, 3}},
      {"Resize", {1, 1, 2}, {1, 3}, {x(), none(), f({3}, {1, 1, 2})}, {1, 1.5F, 2.5F, 3}, {Attribute::text("mode", "linear")}},
      {"Resize",
       {1, 1, 4},
       {1, 2, 3, 4},
       {x(), none(), none(), i({1, 1, 2})},
       {1, 4},
       {Attribute::text("mode", "linear"), Attribute::text("coordinate_transformation_mode", "align_corners")}},
      {"Resize", {1, 1, 2}, {1, 3}, {x(), f({3}, {1, 1, 2})}, {1, 1, 3, 3}, {}, 10},
      // 0.6 rounded to float32 is slightly larger, but 3 / 0.6 must be 5.
      {"Resize", {1, 1, 10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {x(), f({3}, {1, 1, 0.6F})}, {0, 1, 3, 5, 6, 8}, {}, 10},
      {"Resize",
       {1, 1, 4},
       {1, 2, 3, 4},
       {x(), none(), f({3}, {1, 1, 0.6F})},
       {1, 4},
       {Attribute::text("mode", "linear"), Attribute::text("coordinate_transformation_mode", "align_corners")}},
      {"Resize",
       {1, 1, 4},
       {1, 2, 3, 4},
       {x(), none(), f({3}, {1, 1, 0.5F})},
       {2, 4},
       {Attribute::text("coordinate_transformation_mode", "tf_half_pixel_for_nn"), Attribute::text("nearest_mode", "floor")},
       11},
      {"Upsample", {1, 1, 2}, {1, 3}, {x(), f({3}, {1, 1, 2})}, {1, 1, 3, 3}, {}, 9},
      {"Upsample",
       {1, 1, 2},
       {1, 3},
       {x()},
       {1, 2, 3, 3},
       {Attribute::numbers("scales", {1, 1, 2}), Attribute::text("mode", "linear")},
       7},
  };
}

// Positions (x, y), i.e. (column, row), between -1 and 1.
std::vector<OperatorCase> grid_cases() {
  const Attribute centres = Attribute::integer("align_corners", 1);
  const Operand grid = f({1, 1, 3, 2}, {0, 0, 1, -1, -1, 0.5F});
  return {
      {"GridSample", {1, 1, 2, 2}, {1, 2, 3, 4}, {x(), grid}, {2.5F, 0.5F, 1.5F}},
      {"GridSample", {1, 1, 2, 2}, {1, 2, 3, 4}, {x(), grid}, {2.5F, 2, 2.5F}, {centres}},
      {"GridSample", {1, 1, 2, 2}, {1, 2, 3, 4}, {x(), grid}, {2.5F, 2, 2.5F}, {centres, Attribute::text("mode", "linear")}, 20},
      {"GridSample", {1, 1, 2, 2}, {1, 2, 3, 4}, {x(), grid}, {2.5F, 2, 3}, {Attribute::text("padding_mode", "border")}},
      {"GridSample",
       {1, 1, 1, 3},
       {1, 2, 4},
       {x(), f({1, 1, 2, 2}, {-1.5F, 0, 2, 0})},
       {1.5F, 2},
       {centres, Attribute::text("padding_mode", "reflection")}},
      {"GridSample",
       {1, 1, 1, 3},
       {1, 2, 4},
       {x(), f({1, 1, 2, 2}, {-0.9F, 0, 1.9F, 0})},
       {1, 2},
       {Attribute::text("mode", "nearest"), Attribute::text("padding_mode", "reflection")}},
      // The weights of Keys' kernel with a = -0.75, halfway between two pixels, are -0.09375, 0.59375, 0.59375, -0.09375.
      {"GridSample",
       {1, 1, 1, 4},
       {0, 1, 0, 0},
       {x(), f({1, 1, 1, 2}, {0, 0})},
       {0.59375F},
       {centres, Attribute::text("mode", "bicubic")}},
      {"AffineGrid", {1, 2, 3}, {1, 0, 0, 0, 1, 0.5F}, {x(), i({1, 1, 1, 2})}, {-0.5F, 0.5F, 0.5F, 0.5F}, {}, 20},
      {"AffineGrid", {1, 2, 3}, {0, 2, 0, 1, 0, 0}, {x(), i({1, 1, 2, 1})}, {-2, 0, 2, 0}, {centres}, 20},
  };
}

// Quantisation rounds halves to even, and has the range of the zero point's type.
std::vector<OperatorCase> quantisation_cases() {
  return {
      {"QuantizeLinear", {1, 3}, {1, 5, 999}, {x(), f({}, {2})}, {0, 2, 255}},
      {"QuantizeLinear", {1, 2}, {3, 4}, {x(), f({2}, {1, 2})}, {3, 2}, {axis(1)}},
      {"DequantizeLinear", {1, 2}, {3, 4}, {x(), f({}, {2}), i2({1}, {1})}, {4, 6}},
      {"DequantizeLinear",
       {1, 4},
       {1, 1, 1, 1},
       {x(), f({1, 2}, {2, 3})},
       {2, 2, 3, 3},
       {axis(1), Attribute::integer("block_size", 2)},
       21},
      {"DynamicQuantizeLinear", {1, 3}, {0, 255, 100}, {x()}, {0, 255, 100}},
  };
}

// Moving elements.
std::vector<OperatorCase> moving_cases() {
  return {
      {"DepthToSpace", {1, 4, 1, 1}, {1, 2, 3, 4}, {x()}, {1, 2, 3, 4}, {Attribute::integer("blocksize", 2)}},
      {"DepthToSpace",
       {1, 8, 1, 1},
       {1, 2, 3, 4, 5, 6, 7, 8},
       {x()},
       {1, 3, 5, 7, 2, 4, 6, 8},
       {Attribute::integer("blocksize", 2)}},
      {"DepthToSpace",
       {1, 8, 1, 1},
       {1, 2, 3, 4, 5, 6, 7, 8},
       {x()},
       {1, 2, 3, 4, 5, 6, 7, 8},
       {Attribute::integer("blocksize", 2), Attribute::text("mode", "CRD")}},
      {"SpaceToDepth",
       {1, 1, 2, 4},
       {1, 2, 3, 4, 5, 6, 7, 8},
       {x()},
       {1, 3, 2, 4, 5, 7, 6, 8},
       {Attribute::integer("blocksize", 2)}},
      {"EyeLike", {2, 2}, {5, 6, 7, 8}, {x()}, {0, 1, 0, 0}, {Attribute::integer("k", 1)}},
      {"CastLike", {1, 2}, {1.5F, -2.5F}, {x(), i({1})}, {1, -2}},
      {"Cast", {1, 2}, {1.5F, -2.5F}, {x()}, {1, -2}, {Attribute::integer("to", 7)}},
      {"If", {1, 2}, {1, 2}, {i({1})}, {5}, {branch("then_branch", 5), branch("else_branch", 6)}},
      {"If", {1, 2}, {1, 2}, {i({0})}, {6}, {branch("then_branch", 5), branch("else_branch", 6)}},
      {"Identity", {1, 2}, {1, 2}, {x()}, {1, 2}},
      {"Dropout", {1, 2}, {1, 2}, {x(), f({}, {0.5F})}, {1, 2}},
      {"Cast", {1, 2}, {1.5F, -2}, {x()}, {1.5F, -2}, {Attribute::integer("to", 11)}},
      {"Cast", {1, 1}, {0}, {f({3}, {1.7F, -1.7F, 0})}, {1, -1, 0}, {Attribute::integer("to", 7)}},
      {"Cast", {1, 1}, {0}, {f({3}, {1.7F, -1.7F, 0})}, {1, 1, 0}, {Attribute::integer("to", 9)}},
      {"Concat", {1, 2}, {1, 2}, {x(), f({1, 1}, {9}), x()}, {1, 2, 9, 1, 2}, {axis(-1)}},
      {"Expand", {2, 1}, {1, 2}, {x(), i({2, 1, 2})}, {1, 1, 2, 2, 1, 1, 2, 2}},
      {"Flatten", {1, 2, 2}, {1, 2, 3, 4}, {x()}, {1, 2, 3, 4}, {axis(3)}},
      {"Gather", {1, 3}, {1, 2, 3}, {x(), i({2, -3, 1})}, {3, 1, 2}, {axis(1)}},
      {"Gather", {2, 2}, {1, 2, 3, 4}, {x(), i({1})}, {3, 4}},
      {"Pad", {1, 2}, {1, 2}, {x()}, {0, 1, 2, 0, 0}, {Attribute::ints("pads", {0, 1, 0, 2})}, 10},
      {"Pad", {1, 3}, {1, 2, 3}, {x(), i({0, -1, 0, 1}), f({}, {7})}, {2, 3, 7}},
      {"Pad", {1, 2}, {1, 2}, {x(), i({1, 0}), f({}, {-kInfinity}), i({1})}, {-kInfinity, 1, 2}, {}, 18},
      {"Pad", {1, 3}, {1, 2, 3}, {x(), i({0, 2, 0, 1})}, {3, 2, 1, 2, 3, 2}, {Attribute::text("mode", "reflect")}},
      {"Pad", {1, 2}, {1, 2}, {x(), i({0, 1, 0, 2})}, {1, 1, 2, 2, 2}, {Attribute::text("mode", "edge")}},
      {"Pad", {1, 3}, {1, 2, 3}, {x(), i({0, 1, 0, 2})}, {3, 1, 2, 3, 1, 2}, {Attribute::text("mode", "wrap")}, 19},
      {"Reshape", {1, 2, 2}, {1, 2, 3, 4}, {x(), i({0, -1})}, {1, 2, 3, 4}},
      {"Slice",
       {1, 4},
       {1, 2, 3, 4},
       {x()},
       {2, 3},
       {Attribute::ints("starts", {1}), Attribute::ints("ends", {-1}), axes({1})},
       9},
      {"Slice", {1, 4}, {1, 2, 3, 4}, {x(), i({0, 3}), i({1, 0}), i({0, 1}), i({1, -2})}, {4, 2}},
      {"Slice",
       {1, 4},
       {1, 2, 3, 4},
       {x(), i({3}), i({std::numeric_limits<std::int64_t>::min()}), i({1}), i({std::numeric_limits<std::int64_t>::min()})},
       {4}},
      {"Slice", {1, 4}, {1, 2, 3, 4}, {x(), i({1}), i({std::numeric_limits<std::int64_t>::max()}), i({1}), i({2})}, {2, 4}},
      {"Split", {1, 3}, {1, 2, 3}, {x(), i({3})}, {1, 2, 3}, {axis(1)}},
      {"Squeeze", {1, 2, 1}, {1, 2}, {x()}, {1, 2}, {axes({0, -1})}, 11},
      {"Squeeze", {1, 2, 1}, {1, 2}, {x(), i({2})}, {1, 2}},
      {"Tile", {1, 2}, {1, 2}, {x(), i({2, 2})}, {1, 2, 1, 2, 1, 2, 1, 2}},
      {"Transpose", {1, 2, 3}, {1, 2, 3, 4, 5, 6}, {x()}, {1, 4, 2, 5, 3, 6}, {Attribute::ints("perm", {0, 2, 1})}},
      {"Transpose", {2, 2}, {1, 2, 3, 4}, {x()}, {1, 3, 2, 4}},
      {"Unsqueeze", {2}, {1, 2}, {x()}, {1, 2}, {axes({0, -1})}, 11},
      {"Unsqueeze", {2}, {1, 2}, {x(), i({1})}, {1, 2}},
  };
}

// Shapes and constants, known at import.
std::vector<OperatorCase> constant_cases() {
  return {
      {"Shape", {1, 2, 3}, {1, 2, 3, 4, 5, 6}, {x()}, {1, 2, 3}},
      {"Shape", {1, 2, 3}, {1, 2, 3, 4, 5, 6}, {x()}, {2}, {Attribute::integer("start", -2), Attribute::integer("end", -1)}},
      {"Size", {1, 2, 3}, {1, 2, 3, 4, 5, 6}, {x()}, {6}},
      {"Constant", {1, 1}, {0}, {}, {7}, {value_seven()}},
      {"Constant", {1, 1}, {0}, {}, {2.5F}, {Attribute::number("value_float", 2.5F)}},
      {"Constant", {1, 1}, {0}, {}, {1, 2.5F}, {Attribute::numbers("value_floats", {1, 2.5F})}},
      {"Constant", {1, 1}, {0}, {}, {5}, {Attribute::integer("value_int", 5)}},
      {"Constant", {1, 1}, {0}, {}, {5, 6}, {Attribute::ints("value_ints", {5, 6})}},
      {"ConstantOfShape", {1, 1}, {0}, {i({2, 1})}, {7, 7}, {value_seven()}},
      {"ConstantOfShape", {1, 1}, {0}, {i({2})}, {0, 0}},
      {"Range", {1, 1}, {0}, {f({}, {1}), f({}, {2}), f({}, {0.25F})}, {1, 1.25F, 1.5F, 1.75F}},
      {"Range", {1, 1}, {0}, {f({}, {5}), f({}, {0}), f({}, {-2})}, {5, 3, 1}},
  };
}

const std::vector<OperatorCase>& operator_cases() {
  static const std::vector<OperatorCase> all = [] {
    std::vector<OperatorCase> cases;
    for (const auto part :
         {elementwise_cases, broadcast_cases, product_cases, reduction_cases, window_cases, normalisation_cases, attention_cases,
          position_cases, resize_cases, grid_cases, quantisation_cases, moving_cases, constant_cases}) {
      for (OperatorCase& each : part()) cases.push_back(std::move(each));
    }
    return cases;
  }();
  return all;
}

// The node's value, flattened, plus zero times the sum of x. The output then depends on the input even if the node's value does
// not, and the model does not end in a Softmax.
OnnxBuilder model_of(const OperatorCase& row) {
  OnnxBuilder builder(row.opset);
  builder.input("x", row.shape);
  std::vector<std::string> operands;
  for (const Operand& operand : row.operands) {
    const std::string name = "c" + std::to_string(operands.size());
    if (operand.kind == Operand::floats) builder.weight(name, operand.tensor);
    if (operand.kind == Operand::integers) builder.integers(name, operand.values, operand.tensor.shape);
    operands.push_back(operand.kind == Operand::x ? "x" : operand.kind == Operand::absent ? "" : name);
  }
  builder.node(row.op, operands, {"value"}, row.attributes).node("Cast", {"value"}, {"as float"}, {Attribute::integer("to", 1)});
  builder.integers("flat", {-1}).node("Reshape", {"as float", "flat"}, {"vector"});
  builder.weight("zero", Tensor::scalar(0)).node("ReduceSum", {"x"}, {"total"}).node("Mul", {"total", "zero"}, {"nothing"});
  builder.node("Reshape", {"nothing", "flat"}, {"nothing flat"}).node("Add", {"vector", "nothing flat"}, {"y"}).output("y");
  return builder;
}

TEST(OnnxOperators, GiveTheValuesWorkedOutByHand) {
  for (const OperatorCase& row : operator_cases()) {
    const std::string bytes = model_of(row).bytes();
    const auto model = import_onnx(std::as_bytes(std::span(bytes)));
    const std::string what = row.op + " of " + to_string(row.shape) + ", opset " + std::to_string(row.opset);
    ASSERT_TRUE(model) << what << ": " << model.error().message();
    const Floats actual = test::evaluate(model->graph, {Tensor(row.shape, row.input)})[0].data;
    ASSERT_EQ(actual.size(), row.expected.size()) << what;
    for (std::size_t e = 0; e < actual.size(); ++e) {
      if (actual[e] == row.expected[e]) continue;  // infinities
      EXPECT_NEAR(actual[e], row.expected[e], 1e-5 * (1 + std::fabs(row.expected[e]))) << what << ", element " << e;
    }
  }
}

// The gradient of the sum of y = op(x), at x = 0.
Floats gradient_at_zero(const std::string& op, const std::vector<Attribute>& attributes) {
  OnnxBuilder builder;
  builder.input("x", {1, 1, 4}).node(op, {"x"}, {"h"}, attributes).node("Flatten", {"h"}, {"y"}).output("y");
  const std::string bytes = builder.bytes();
  const Model model = import_onnx(std::as_bytes(std::span(bytes))).value();
  Vjp sweep = vjp(model.graph, model.graph.outputs, model.graph.inputs());
  sweep.graph.outputs = sweep.gradients;
  const Tensor ones({model.classes}, Floats(static_cast<std::size_t>(model.classes), 1));
  return test::evaluate(sweep.graph, {Tensor({1, 1, 4}), ones})[0].data;
}

// The square root has an infinite derivative at 0; multiplied by the zero derivative of the square, that would be NaN.
TEST(OnnxOperators, NormsHaveADerivativeAtZero) {
  const Floats zeros(4, 0);
  const Attribute two = Attribute::ints("kernel_shape", {2}), axes = Attribute::ints("axes", {2});
  EXPECT_EQ(gradient_at_zero("LpPool", {two}), zeros);
  EXPECT_EQ(gradient_at_zero("LpPool", {two, Attribute::integer("p", 3)}), zeros);
  EXPECT_EQ(gradient_at_zero("GlobalLpPool", {}), zeros);
  EXPECT_EQ(gradient_at_zero("ReduceL2", {axes}), zeros);
  EXPECT_EQ(gradient_at_zero("LpNormalization", {}), Floats(4, 1));  // no division by a zero norm
}

TEST(OnnxOperators, NormsKeepNaN) {
  OnnxBuilder builder;
  builder.input("x", {1, 2}).node("ReduceL2", {"x"}, {"y"}, {Attribute::ints("axes", {1})}).output("y");
  const std::string bytes = builder.bytes();
  const Model model = import_onnx(std::as_bytes(std::span(bytes))).value();
  EXPECT_TRUE(std::isnan(test::evaluate(model.graph, {Tensor({1, 2}, {1, NAN})})[0].data[0]));
}

TEST(OnnxOperators, EveryOperatorHasARow) {
  std::set<std::string> covered;
  for (const OperatorCase& row : operator_cases()) covered.insert(row.op);
  for (const onnx::OperatorFamily& family : onnx::operator_families()) {
    if (!family.domain.empty()) continue;  // see tests/onnx_ml_test.cpp
    for (const onnx::OnnxOperator& entry : family.operators) {
      EXPECT_TRUE(covered.count(std::string(entry.op_type))) << "operator " << entry.op_type << " has no row in this file";
    }
  }
}

}  // namespace
}  // namespace probust
