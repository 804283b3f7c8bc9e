// SPDX-License-Identifier: MIT
// Elementwise functions, comparisons and products.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "probust/base/error.h"
#include "probust/onnx/lower/lower.h"
#include "probust/ops/build.h"

namespace probust::onnx {
namespace {

template <Op op>
void unary(Lowering& l) {
  l.set(l.add_node(op, {l.in(0)}));
}

template <Op op>
void binary(Lowering& l) {
  l.set(l.add_node(op, {l.in(0), l.in(1)}));
}

// Lowers to the core's operator of the same meaning.
template <Op op>
constexpr OnnxOperator one(std::string_view name, bool differentiable, std::int64_t since = 1) {
  return {name, unary<op>, differentiable, since, op};
}

template <Op op>
constexpr OnnxOperator two(std::string_view name, bool differentiable, std::int64_t since = 1) {
  return {name, binary<op>, differentiable, since, op};
}

// A constant operand, broadcast to `shape`.
const Tensor& spread(Lowering& l, std::size_t operand, const Shape& shape) {
  l.constant(operand);
  return constant_value(l.graph, l.add_node(Op::broadcast, {l.in(operand)}, ShapeAttribute{shape}));
}

// The integer part: rounded towards zero.
ValueId truncated(Lowering& l, ValueId x) {
  const ValueId size = l.add_node(Op::floor, {l.add_node(Op::absolute, {x})});
  return l.add_node(Op::multiply, {l.add_node(Op::sign, {x}), size});
}

// Integer division truncates. In double precision, quotients of integers below 2^24 never round up to the next integer.
void divide(Lowering& l) {
  if (!l.integer(0) || !l.integer(1)) return binary<Op::divide>(l);
  if (l.is_constant(1)) {
    for (const float divisor : l.constant(1).data) {
      if (divisor == 0) l.malformed("divides an integer by zero");
    }
  }
  if (!l.is_constant(0) || !l.is_constant(1)) return l.set(truncated(l, l.add_node(Op::divide, {l.in(0), l.in(1)})));
  const Shape shape = broadcast_shapes(l.shape(0), l.shape(1), l.where());
  const Tensor &a = spread(l, 0, shape), &b = spread(l, 1, shape);
  Tensor result(shape);
  for (std::int64_t i = 0; i < result.size(); ++i)
    result.data[i] = static_cast<float>(std::trunc(double{a.data[i]} / double{b.data[i]}));
  l.set(l.tensor(std::move(result)));
}

// The remainder has the divisor's sign; with fmod, that of the dividend.
void modulo(Lowering& l) {
  const ValueId a = l.in(0), b = l.in(1), quotient = l.add_node(Op::divide, {a, b});
  const bool truncate = l.attribute("fmod", std::int64_t{0}) != 0;
  const ValueId whole = truncate ? truncated(l, quotient) : l.add_node(Op::floor, {quotient});
  l.set(l.add_node(Op::subtract, {a, l.add_node(Op::multiply, {whole, b})}));
}

// -floor(-x)
void ceil(Lowering& l) { l.set(l.add_node(Op::negate, {l.add_node(Op::floor, {l.add_node(Op::negate, {l.in(0)})})})); }

// sin / cos
void tangent(Lowering& l) { l.set(l.add_node(Op::divide, {l.add_node(Op::sine, {l.in(0)}), l.add_node(Op::cosine, {l.in(0)})})); }

// Lowers an operator with one or more operands: ((a op b) op c) ....
template <Op op>
void variadic(Lowering& l) {
  ValueId result = l.in(0);
  for (std::size_t i = 1; i < l.inputs(); ++i) result = l.add_node(op, {result, l.in(i)});
  l.set(result);
}

void mean(Lowering& l) {
  ValueId sum = l.in(0);
  for (std::size_t i = 1; i < l.inputs(); ++i) sum = l.add_node(Op::add, {sum, l.in(i)});
  l.set(l.add_node(Op::multiply, {sum, l.scalar(1.0F / static_cast<float>(l.inputs()))}));
}

// max(x, 0) + slope min(x, 0), with min(x, 0) = -relu(-x).
ValueId leaky(Lowering& l, ValueId x, ValueId slope) {
  const ValueId negative = l.add_node(Op::relu, {l.add_node(Op::negate, {x})});
  return l.add_node(Op::subtract, {l.add_node(Op::relu, {x}), l.add_node(Op::multiply, {negative, slope})});
}

void leaky_relu(Lowering& l) { l.set(leaky(l, l.in(0), l.scalar(l.attribute("alpha", 0.01F)))); }

void prelu(Lowering& l) { l.set(leaky(l, l.in(0), l.in(1))); }

// relu(x) + alpha (e^min(x, 0) - 1), times gamma.
ValueId exponential_unit(Lowering& l, float alpha, float gamma) {
  const ValueId x = l.in(0);
  const ValueId below = l.add_node(Op::minimum, {x, l.scalar(0)});
  const ValueId curve = l.add_node(Op::subtract, {l.add_node(Op::exp, {below}), l.scalar(1)});
  const ValueId sum = l.add_node(Op::add, {l.add_node(Op::relu, {x}), l.add_node(Op::multiply, {curve, l.scalar(alpha)})});
  return gamma == 1 ? sum : l.add_node(Op::multiply, {sum, l.scalar(gamma)});
}

void elu(Lowering& l) { l.set(exponential_unit(l, l.attribute("alpha", 1.0F), 1)); }

void selu(Lowering& l) { l.set(exponential_unit(l, l.attribute("alpha", 1.67326319F), l.attribute("gamma", 1.05070102F))); }

ValueId clip_to(Lowering& l, ValueId x, float low, float high) {
  return l.add_node(Op::minimum, {l.add_node(Op::maximum, {x, l.scalar(low)}), l.scalar(high)});
}

ValueId hard_sigmoid_of(Lowering& l, ValueId x, float alpha, float beta) {
  const ValueId line = l.add_node(Op::add, {l.add_node(Op::multiply, {x, l.scalar(alpha)}), l.scalar(beta)});
  return clip_to(l, line, 0, 1);
}

void hard_sigmoid(Lowering& l) { l.set(hard_sigmoid_of(l, l.in(0), l.attribute("alpha", 0.2F), l.attribute("beta", 0.5F))); }

void hard_swish(Lowering& l) { l.set(l.add_node(Op::multiply, {l.in(0), hard_sigmoid_of(l, l.in(0), 1.0F / 6, 0.5F)})); }

// max(x, 0) + alpha (e^(min(x, 0) / alpha) - 1)
void celu(Lowering& l) {
  const float alpha = l.attribute("alpha", 1.0F);
  const ValueId below = l.add_node(Op::multiply, {l.add_node(Op::minimum, {l.in(0), l.scalar(0)}), l.scalar(1 / alpha)});
  const ValueId curve = l.add_node(Op::subtract, {l.add_node(Op::exp, {below}), l.scalar(1)});
  l.set(l.add_node(Op::add, {l.add_node(Op::relu, {l.in(0)}), l.add_node(Op::multiply, {curve, l.scalar(alpha)})}));
}

// x if it is above alpha, else 0.
void thresholded_relu(Lowering& l) {
  const ValueId above = l.add_node(Op::less, {l.scalar(l.attribute("alpha", 1.0F)), l.in(0)});
  l.set(l.add_node(Op::select, {above, l.in(0), l.scalar(0)}));
}

// Moves x towards zero by bias; 0 between -lambd and lambd.
void shrink(Lowering& l) {
  const float bias = l.attribute("bias", 0.0F), lambda = l.attribute("lambd", 0.5F);
  const ValueId x = l.in(0), zero = l.scalar(0);
  const ValueId below =
      l.add_node(Op::select, {l.add_node(Op::less, {x, l.scalar(-lambda)}), l.add_node(Op::add, {x, l.scalar(bias)}), zero});
  l.set(l.add_node(Op::select,
                   {l.add_node(Op::less, {l.scalar(lambda), x}), l.add_node(Op::subtract, {x, l.scalar(bias)}), below}));
}

void softsign(Lowering& l) {
  const ValueId size = l.add_node(Op::add, {l.add_node(Op::absolute, {l.in(0)}), l.scalar(1)});
  l.set(l.add_node(Op::divide, {l.in(0), size}));
}

// x Phi(x), or its tanh approximation (Hendrycks and Gimpel 2016).
void gelu(Lowering& l) {
  const ValueId x = l.in(0);
  ValueId inner = kNoValue;
  if (l.attribute("approximate", std::string("none")) == "tanh") {
    const ValueId cube = l.add_node(Op::multiply, {l.add_node(Op::multiply, {x, x}), x});
    const ValueId sum = l.add_node(Op::add, {x, l.add_node(Op::multiply, {cube, l.scalar(0.044715F)})});
    inner = l.add_node(Op::tanh, {l.add_node(Op::multiply, {sum, l.scalar(0.79788456F)})});
  } else {
    inner = l.add_node(Op::erf, {l.add_node(Op::multiply, {x, l.scalar(static_cast<float>(std::numbers::sqrt2 / 2))})});
  }
  const ValueId twice = l.add_node(Op::multiply, {x, l.add_node(Op::add, {inner, l.scalar(1)})});
  l.set(l.add_node(Op::multiply, {twice, l.scalar(0.5F)}));
}

// The bounds are attributes before opset 11, and operands since. Either may be omitted.
void clip(Lowering& l) {
  const bool old = l.opset < 11;
  ValueId x = l.in(0);
  if (old ? l.has_attribute("min") : l.has(1))
    x = l.add_node(Op::maximum, {x, old ? l.scalar(l.attribute("min", 0.0F)) : l.in(1)});
  if (old ? l.has_attribute("max") : l.has(2))
    x = l.add_node(Op::minimum, {x, old ? l.scalar(l.attribute("max", 0.0F)) : l.in(2)});
  l.set(0, x, l.integer(0));
}

// A constant exponent of 2 becomes a product: the general power has no derivative for negative bases.
void power(Lowering& l) {
  if (l.is_constant(1) && l.constant(1).size() == 1 && l.constant(1).data[0] == 2 && l.shape(1).size() <= l.shape(0).size()) {
    return l.set(0, l.add_node(Op::multiply, {l.in(0), l.in(0)}), l.integer(0));
  }
  const ValueId power = l.add_node(Op::power, {l.in(0), l.in(1)});
  l.set(0, l.integer(0) && !l.integer(1) ? truncated(l, power) : power, l.integer(0));
}

// Swish, x sigmoid(alpha x).
void swish(Lowering& l) {
  const ValueId scaled = l.add_node(Op::multiply, {l.in(0), l.scalar(l.attribute("alpha", 1.0F))});
  l.set(l.add_node(Op::multiply, {l.in(0), l.add_node(Op::sigmoid, {scaled})}));
}

// x tanh(softplus(x)).
void mish(Lowering& l) {
  l.set(l.add_node(Op::multiply, {l.in(0), l.add_node(Op::tanh, {l.add_node(Op::softplus, {l.in(0)})})}));
}

// ONNX MatMul promotes vectors to matrices and removes the extra axis afterwards.
void matmul(Lowering& l) {
  Shape a = l.shape(0), b = l.shape(1);
  if (a.empty() || b.empty()) l.malformed("has an operand that is a single number");
  ValueId left = l.in(0), right = l.in(1);
  if (a.size() == 1) left = build::reshape(l.graph, left, {1, a[0]});
  if (b.size() == 1) right = build::reshape(l.graph, right, {b[0], 1});
  const ValueId product = l.add_node(Op::matmul, {left, right}, MatmulAttributes{});
  Shape shape = l.graph[product].shape;
  if (b.size() == 1) shape.pop_back();
  if (a.size() == 1) shape.erase(shape.end() - (b.size() == 1 ? 1 : 2));
  l.set(build::reshape(l.graph, product, shape));
}

// alpha op(a) op(b) + beta c
void gemm(Lowering& l) {
  const float alpha = l.attribute("alpha", 1.0F), beta = l.attribute("beta", 1.0F);
  const MatmulAttributes t{l.attribute("transA", std::int64_t{0}) != 0, l.attribute("transB", std::int64_t{0}) != 0};
  ValueId result = l.add_node(Op::matmul, {l.in(0), l.in(1)}, t);
  if (alpha != 1) result = l.add_node(Op::multiply, {result, l.scalar(alpha)});
  if (l.has(2) && beta != 0) {
    ValueId shift = l.in(2);
    if (beta != 1) shift = l.add_node(Op::multiply, {shift, l.scalar(beta)});
    const Shape shape = l.graph[result].shape;
    result = l.add_node(Op::add, {result, shift});
    if (l.graph[result].shape != shape)
      l.malformed("has a bias " + to_string(l.shape(2)) + " that does not fit " + to_string(shape));
  }
  l.set(result);
}

// Comparisons give 1 or 0. Their derivative is zero almost everywhere.
template <Op op, bool swapped>
void compare(Lowering& l) {
  l.set(0, l.add_node(op, {l.in(swapped ? 1 : 0), l.in(swapped ? 0 : 1)}), true);
}

void equal(Lowering& l) {
  const ValueId at_least = l.add_node(Op::greater_equal, {l.in(0), l.in(1)});
  const ValueId at_most = l.add_node(Op::greater_equal, {l.in(1), l.in(0)});
  l.set(0, l.add_node(Op::multiply, {at_least, at_most}), true);
}

void logical_not(Lowering& l) { l.set(0, l.add_node(Op::subtract, {l.scalar(1), l.in(0)}), true); }

// 1 if exactly one operand is true.
void exclusive_or(Lowering& l) {
  const ValueId at_least = l.add_node(Op::greater_equal, {l.in(0), l.in(1)});
  const ValueId at_most = l.add_node(Op::greater_equal, {l.in(1), l.in(0)});
  l.set(0, l.add_node(Op::subtract, {l.scalar(1), l.add_node(Op::multiply, {at_least, at_most})}), true);
}

// NaN does not equal itself.
void is_nan(Lowering& l) {
  l.set(0, l.add_node(Op::subtract, {l.scalar(1), l.add_node(Op::greater_equal, {l.in(0), l.in(0)})}), true);
}

void is_infinite(Lowering& l) {
  const bool above = l.attribute("detect_positive", std::int64_t{1}) != 0,
             below = l.attribute("detect_negative", std::int64_t{1}) != 0;
  const ValueId zero = l.scalar(0), infinity = l.scalar(std::numeric_limits<float>::infinity());
  const ValueId high = above ? l.in(0) : l.add_node(Op::minimum, {l.in(0), zero}),
                low = l.add_node(Op::negate, {below ? l.in(0) : l.add_node(Op::maximum, {l.in(0), zero})});
  l.set(0, l.add_node(Op::greater_equal, {l.add_node(Op::maximum, {high, low}), infinity}), true);
}

// condition ? a : b
void where(Lowering& l) { l.set(0, l.add_node(Op::select, {l.in(0), l.in(1), l.in(2)}), l.integer(1) && l.integer(2)); }

constexpr OnnxOperator kElementwiseOperators[] = {
    one<Op::absolute>("Abs", true),
    two<Op::add>("Add", true),
    {"And", compare<Op::multiply, false>, false},
    {"Ceil", ceil, false},
    {"Celu", celu, true, 12},
    {"Clip", clip, true},
    one<Op::cosine>("Cos", true),
    {"Div", divide, true, 1, Op::divide},
    {"Elu", elu, true},
    {"Equal", equal, false},
    one<Op::erf>("Erf", true, 9),
    one<Op::exp>("Exp", true),
    one<Op::floor>("Floor", false),
    {"Gelu", gelu, true, 20},
    {"Gemm", gemm, true},
    {"Greater", compare<Op::less, true>, false},
    {"GreaterOrEqual", compare<Op::greater_equal, false>, false, 12},
    {"HardSigmoid", hard_sigmoid, true},
    {"HardSwish", hard_swish, true, 14},
    {"IsInf", is_infinite, false, 10},
    {"IsNaN", is_nan, false, 9},
    {"LeakyRelu", leaky_relu, true},
    {"Less", compare<Op::less, false>, false},
    {"LessOrEqual", compare<Op::greater_equal, true>, false, 12},
    one<Op::log>("Log", true),
    {"MatMul", matmul, true},
    {"Max", variadic<Op::maximum>, true, 1, Op::maximum},
    {"Mean", mean, true},
    {"Min", variadic<Op::minimum>, true, 1, Op::minimum},
    {"Mish", mish, true, 18},
    {"Mod", modulo, true, 10},
    two<Op::multiply>("Mul", true),
    one<Op::negate>("Neg", true),
    {"Not", logical_not, false},
    {"Or", compare<Op::maximum, false>, false},
    {"PRelu", prelu, true},
    {"Pow", power, true, 1, Op::power},
    one<Op::reciprocal>("Reciprocal", true),
    one<Op::relu>("Relu", true),
    one<Op::round>("Round", false, 11),
    {"Selu", selu, true},
    {"Shrink", shrink, true, 9},
    one<Op::sigmoid>("Sigmoid", true),
    one<Op::sign>("Sign", false, 9),
    one<Op::sine>("Sin", true),
    one<Op::softplus>("Softplus", true),
    {"Softsign", softsign, true},
    one<Op::sqrt>("Sqrt", true),
    two<Op::subtract>("Sub", true),
    {"Sum", variadic<Op::add>, true},
    {"Swish", swish, true, 24},
    {"Tan", tangent, true},
    one<Op::tanh>("Tanh", true),
    {"ThresholdedRelu", thresholded_relu, true, 10},
    {"Where", where, true, 9},
    {"Xor", exclusive_or, false},
};

}  // namespace

std::span<const OnnxOperator> elementwise_operators() { return kElementwiseOperators; }

}  // namespace probust::onnx
