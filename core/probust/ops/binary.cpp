// SPDX-License-Identifier: MIT
// y = f(a, b), element by element (graph/operators.h), with numpy broadcasting. A cotangent is summed to the operand's shape.
// If the operands of maximum or minimum are equal, the first one gets the whole derivative.
#include "probust/ops/build.h"
#include "probust/ops/families.h"

namespace probust::ops {
namespace {

Shape infer_binary(const Attributes&, std::span<const Shape> in) { return broadcast_shapes(in[0], in[1], "the operator"); }

// Strides of an operand along the output's axes: 0 along axes on which it is repeated.
Shape broadcast_strides(const Shape& operand, const Shape& output) {
  const Shape own = row_major_strides(operand);
  Shape strides(output.size(), 0);
  const std::size_t added = output.size() - operand.size();
  for (std::size_t i = 0; i < operand.size(); ++i) strides[added + i] = operand[i] == 1 ? 0 : own[i];
  return strides;
}

void eval_with(float (*value)(float a, float b, float parameter), const Attributes& attributes, std::span<const Tensor* const> in,
               Tensor& y) {
  const Shape a = broadcast_strides(in[0]->shape, y.shape), b = broadcast_strides(in[1]->shape, y.shape);
  const float parameter = parameter_of(attributes);
  for (std::int64_t index = 0; index < y.size(); ++index) {
    std::int64_t rest = index, at_a = 0, at_b = 0;
    for (std::size_t i = y.shape.size(); i-- > 0;) {
      const std::int64_t coordinate = rest % y.shape[i];
      rest /= y.shape[i];
      at_a += coordinate * a[i];
      at_b += coordinate * b[i];
    }
    y.data[index] = value(in[0]->data[at_a], in[1]->data[at_b], parameter);
  }
}

template <Op op>
void eval_binary(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  eval_with([](float a, float b, float parameter) { return element_value(op, a, b, parameter); }, attributes, in, y);
}

template <Op op>
void loop_binary(float parameter, const float* a, bool scalar_a, const float* b, bool scalar_b, float* y, std::int64_t count) {
  if (scalar_b) {
    const float value = *b;
    for (std::int64_t i = 0; i < count; ++i) y[i] = element_value(op, a[i], value, parameter);
  } else if (scalar_a) {
    const float value = *a;
    for (std::int64_t i = 0; i < count; ++i) y[i] = element_value(op, value, b[i], parameter);
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[i] = element_value(op, a[i], b[i], parameter);
  }
}

template <Op op>
constexpr OpDefinition binary(std::string_view name, std::string_view formula,
                              ValueId (*vjp)(Graph&, ValueId y, std::size_t operand, ValueId c), std::uint32_t affine = 0) {
  const Traits traits{.affine = affine, .binary = loop_binary<op>};
  return {op, name, formula, 2, 2, infer_binary, eval_binary<op>, vjp, flops_elementwise, traits};
}

ValueId back_to(Graph& g, ValueId c, ValueId operand) {
  const Shape shape = g[operand].shape;
  return build::sum_to(g, c, shape);
}

ValueId vjp_add(Graph& g, ValueId y, std::size_t operand, ValueId c) { return back_to(g, c, g[y].inputs[operand]); }

ValueId vjp_subtract(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  const ValueId to = g[y].inputs[operand];
  return operand == 0 ? back_to(g, c, to) : build::negate(g, back_to(g, c, to));
}

ValueId vjp_multiply(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  const ValueId to = g[y].inputs[operand], other = g[y].inputs[1 - operand];
  return back_to(g, build::multiply(g, c, other), to);
}

ValueId vjp_divide(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  const ValueId a = g[y].inputs[0], b = g[y].inputs[1];
  const ValueId quotient = build::divide(g, c, b);
  if (operand == 0) return back_to(g, quotient, a);
  return build::negate(g, back_to(g, build::multiply(g, quotient, y), b));
}

// The chosen operand gets the cotangent: a if chosen(a, b), otherwise b.
template <Op a_chosen, Op b_chosen, bool swapped>
ValueId vjp_choice(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  const ValueId a = g[y].inputs[0], b = g[y].inputs[1];
  const Op op = operand == 0 ? a_chosen : b_chosen;
  const ValueId mask = swapped ? append(g, op, {b, a}) : append(g, op, {a, b});
  return back_to(g, build::multiply(g, c, mask), operand == 0 ? a : b);
}

ValueId vjp_power(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  const ValueId a = g[y].inputs[0], b = g[y].inputs[1];
  if (operand == 0) {
    const ValueId lower = append(g, Op::power, {a, build::subtract(g, b, build::constant(g, 1))});
    return back_to(g, build::multiply(g, c, build::multiply(g, b, lower)), a);
  }
  return back_to(g, build::multiply(g, c, build::multiply(g, y, append(g, Op::log, {a}))), b);
}

constexpr auto vjp_maximum = vjp_choice<Op::greater_equal, Op::less, false>;  // a if a >= b, b if a < b
constexpr auto vjp_minimum = vjp_choice<Op::greater_equal, Op::less, true>;   // a if b >= a, b if b < a

constexpr OpDefinition kBinaryFamily[] = {
    binary<Op::add>("add", "y = a + b", vjp_add, 0b11),
    binary<Op::subtract>("subtract", "y = a - b", vjp_subtract, 0b11),
    binary<Op::multiply>("multiply", "y = a b", vjp_multiply, 0b11),
    binary<Op::divide>("divide", "y = a / b", vjp_divide, 0b01),
    binary<Op::maximum>("maximum", "y = max(a, b)", vjp_maximum),
    binary<Op::minimum>("minimum", "y = min(a, b)", vjp_minimum),
    binary<Op::power>("power", "y = a^b", vjp_power),
    binary<Op::greater_equal>("greater_equal", "y = 1 where a >= b, else 0", vjp_zero),
    binary<Op::less>("less", "y = 1 where a < b, else 0", vjp_zero),
};

}  // namespace

std::span<const OpDefinition> binary_family() { return kBinaryFamily; }

}  // namespace probust::ops
