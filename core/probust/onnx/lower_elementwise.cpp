// SPDX-License-Identifier: MIT
// Functions of elements, products, reductions and softmax.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "probust/base/error.h"
#include "probust/onnx/lower.h"
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

// A constant operand repeated up to `shape`.
const Tensor& spread(Lowering& l, std::size_t operand, const Shape& shape) {
  l.constant(operand);
  return constant_value(l.graph, l.add_node(Op::broadcast, {l.in(operand)}, ShapeAttribute{shape}));
}

// Integers divide towards zero; only constants are integers.
void divide(Lowering& l) {
  if (!l.integer(0) || !l.integer(1)) return binary<Op::divide>(l);
  const Shape shape = broadcast_shapes(l.shape(0), l.shape(1), l.where());
  const Tensor &a = spread(l, 0, shape), &b = spread(l, 1, shape);
  Tensor result(shape);
  for (std::int64_t i = 0; i < result.size(); ++i) {
    if (b.data[i] == 0) l.malformed("divides an integer by zero");
    // In double, where the quotient of two integers below 2^24 never rounds up to the next one.
    result.data[i] = static_cast<float>(std::trunc(double{a.data[i]} / double{b.data[i]}));
  }
  l.set(l.tensor(std::move(result)));
}

// One operand or more: ((a op b) op c) ...
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

// Bounds are attributes before opset 11, operands since; either may be left out.
void clip(Lowering& l) {
  const bool old = l.opset < 11;
  ValueId x = l.in(0);
  if (old ? l.has_attribute("min") : l.has(1))
    x = l.add_node(Op::maximum, {x, old ? l.scalar(l.attribute("min", 0.0F)) : l.in(1)});
  if (old ? l.has_attribute("max") : l.has(2))
    x = l.add_node(Op::minimum, {x, old ? l.scalar(l.attribute("max", 0.0F)) : l.in(2)});
  l.set(0, x, l.integer(0));
}

// A constant exponent of 2 is a product: the general power has no derivative for negative bases.
void power(Lowering& l) {
  if (l.is_constant(1) && l.constant(1).size() == 1 && l.constant(1).data[0] == 2 && l.shape(1).size() <= l.shape(0).size()) {
    return l.set(l.add_node(Op::multiply, {l.in(0), l.in(0)}));
  }
  binary<Op::power>(l);
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

// ONNX MatMul promotes vectors to matrices and takes the extra axis away again.
void matmul(Lowering& l) {
  Shape a = l.shape(0), b = l.shape(1);
  if (a.empty() || b.empty()) l.malformed("multiplies a scalar");
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
    if (l.graph[result].shape != shape) l.malformed("its bias " + to_string(l.shape(2)) + " does not fit " + to_string(shape));
  }
  l.set(result);
}

// Before opset 13 softmax works on everything behind `axis` as one; since, along `axis` alone.
template <Op op>
void softmax(Lowering& l) {
  const Shape shape = l.shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = l.axis(l.attribute("axis", std::int64_t{l.opset < 13 ? 1 : -1}), std::max<std::int64_t>(rank, 1));
  if (l.opset >= 13) return l.set(l.add_node(op, {l.in(0)}, AxisAttribute{axis}));
  const Shape flat{element_count({shape.begin(), shape.begin() + axis}), element_count({shape.begin() + axis, shape.end()})};
  const ValueId y = l.add_node(op, {build::reshape(l.graph, l.in(0), flat)}, AxisAttribute{1});
  l.set(build::reshape(l.graph, y, shape));
}

// Axes of a reduction: attribute or operand 1; none means all, unless noop_with_empty_axes.
std::vector<std::int64_t> reduced_axes(Lowering& l) {
  const auto rank = static_cast<std::int64_t>(l.shape(0).size());
  std::vector<std::int64_t> axes = l.attribute_or_input("axes", 1).value_or(std::vector<std::int64_t>{});
  for (std::int64_t& axis : axes) axis = l.axis(axis, rank);
  if (axes.empty() && l.attribute("noop_with_empty_axes", std::int64_t{0}) == 0) {
    axes.resize(static_cast<std::size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

Shape reduced_shape(Lowering& l, const std::vector<std::int64_t>& axes) {
  const Shape from = l.shape(0);
  const bool keep = l.attribute("keepdims", std::int64_t{1}) != 0;
  Shape shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    if (!reduced) shape.push_back(from[i]);
    if (reduced && keep) shape.push_back(1);
  }
  return shape;
}

// before: applied to the elements; after: to the sum.
enum class After { nothing, mean, root };

template <bool squared, After after>
void reduce(Lowering& l) {
  const std::vector<std::int64_t> axes = reduced_axes(l);
  ValueId x = l.in(0);
  if (squared) x = l.add_node(Op::multiply, {x, x});
  ValueId sum = build::reduce_sum(l.graph, x, axes);
  const float share = static_cast<float>(element_count(l.graph[sum].shape)) / static_cast<float>(element_count(l.shape(0)));
  if (after == After::mean) sum = l.add_node(Op::multiply, {sum, l.scalar(share)});
  if (after == After::root) sum = l.add_node(Op::sqrt, {sum});
  l.set(build::reshape(l.graph, sum, reduced_shape(l, axes)));
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

// Elements of operand i where the condition (or its inverse) is 1, zero elsewhere. A constant is cut out, not multiplied: masks
// are full of infinities, and 0 times infinity is not a number.
ValueId masked(Lowering& l, std::size_t i, ValueId mask) {
  if (!l.is_constant(i) || l.graph[mask].op != Op::constant) return l.add_node(Op::multiply, {l.in(i), mask});
  const Shape shape = broadcast_shapes(l.shape(i), l.graph[mask].shape, l.where());
  const Tensor& keep = constant_value(l.graph, l.add_node(Op::broadcast, {mask}, ShapeAttribute{shape}));
  Tensor result = spread(l, i, shape);
  for (std::int64_t e = 0; e < result.size(); ++e) result.data[e] = keep.data[e] != 0 ? result.data[e] : 0.0F;
  return l.tensor(std::move(result));
}

// condition ? a : b
void where(Lowering& l) {
  const ValueId inverse = l.add_node(Op::subtract, {l.scalar(1), l.in(0)});
  l.set(0, l.add_node(Op::add, {masked(l, 1, l.in(0)), masked(l, 2, inverse)}), l.integer(1) && l.integer(2));
}

constexpr OnnxOperator kTable[] = {
    {"Abs", unary<Op::absolute>, true},
    {"Add", binary<Op::add>, true},
    {"And", compare<Op::multiply, false>, false},
    {"Clip", clip, true},
    {"Cos", unary<Op::cosine>, true},
    {"Div", divide, true},
    {"Elu", elu, true},
    {"Equal", equal, false},
    {"Erf", unary<Op::erf>, true},
    {"Exp", unary<Op::exp>, true},
    {"Gelu", gelu, true},
    {"Gemm", gemm, true},
    {"Greater", compare<Op::less, true>, false},
    {"GreaterOrEqual", compare<Op::greater_equal, false>, false},
    {"HardSigmoid", hard_sigmoid, true},
    {"HardSwish", hard_swish, true},
    {"LeakyRelu", leaky_relu, true},
    {"Less", compare<Op::less, false>, false},
    {"LessOrEqual", compare<Op::greater_equal, true>, false},
    {"Log", unary<Op::log>, true},
    {"LogSoftmax", softmax<Op::log_softmax>, true},
    {"MatMul", matmul, true},
    {"Max", variadic<Op::maximum>, true},
    {"Mean", mean, true},
    {"Min", variadic<Op::minimum>, true},
    {"Mish", mish, true},
    {"Mul", binary<Op::multiply>, true},
    {"Neg", unary<Op::negate>, true},
    {"Not", logical_not, false},
    {"Or", compare<Op::maximum, false>, false},
    {"PRelu", prelu, true},
    {"Pow", power, true},
    {"Reciprocal", unary<Op::reciprocal>, true},
    {"ReduceL2", reduce<true, After::root>, true},
    {"ReduceMean", reduce<false, After::mean>, true},
    {"ReduceSum", reduce<false, After::nothing>, true},
    {"ReduceSumSquare", reduce<true, After::nothing>, true},
    {"Relu", unary<Op::relu>, true},
    {"Selu", selu, true},
    {"Sigmoid", unary<Op::sigmoid>, true},
    {"Sign", unary<Op::sign>, false},
    {"Sin", unary<Op::sine>, true},
    {"Softmax", softmax<Op::softmax>, true},
    {"Softplus", unary<Op::softplus>, true},
    {"Softsign", softsign, true},
    {"Sqrt", unary<Op::sqrt>, true},
    {"Sub", binary<Op::subtract>, true},
    {"Sum", variadic<Op::add>, true},
    {"Swish", swish, true},
    {"Tanh", unary<Op::tanh>, true},
    {"Where", where, true},
};

}  // namespace

std::span<const OnnxOperator> elementwise_operators() { return kTable; }

}  // namespace probust::onnx
