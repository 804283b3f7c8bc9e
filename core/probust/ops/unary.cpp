// SPDX-License-Identifier: MIT
// y = f(a), element by element (graph/operators.h): one row per function, with its derivative as nodes in terms of a and y.
// Derivatives at kinks follow the common frameworks: relu'(0) = 0, |.|'(0) = 0.
#include <numbers>

#include "probust/ops/build.h"
#include "probust/ops/families.h"

namespace probust::ops {
namespace {

Shape infer_unary(const Attributes&, std::span<const Shape> in) { return in[0]; }

// Not inlined into the reference evaluation, because that would double the code of every function.
template <Op op>
[[gnu::noinline]] void loop_unary(float parameter, const float* a, float* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = element_value(op, a[i], 0, parameter);
}

template <Op op>
void eval_unary(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  loop_unary<op>(parameter_of(attributes), in[0]->data.data(), y.data.data(), y.size());
}

using Vjp = ValueId (*)(Graph&, ValueId y, std::size_t operand, ValueId c);

template <Op op>
constexpr OpDefinition unary(std::string_view name, std::string_view formula, Vjp vjp, std::uint32_t affine = 0) {
  const Traits traits{.affine = affine, .unary = loop_unary<op>};
  return {op, name, formula, 1, 1, infer_unary, eval_unary<op>, vjp, flops_elementwise, traits};
}

using Derivative = ValueId (*)(Graph&, ValueId a, ValueId y);

template <Derivative derivative>
ValueId vjp(Graph& g, ValueId y, std::size_t, ValueId c) {
  return build::multiply(g, c, derivative(g, g[y].inputs[0], y));
}

ValueId vjp_negate(Graph& g, ValueId, std::size_t, ValueId c) { return build::negate(g, c); }

ValueId d_absolute(Graph& g, ValueId a, ValueId) { return append(g, Op::sign, {a}); }
// Computed from the result, which is positive exactly if the operand is, so that only the result must be stored.
ValueId d_relu(Graph& g, ValueId, ValueId y) { return append(g, Op::step, {y}); }
ValueId d_exp(Graph&, ValueId, ValueId y) { return y; }
ValueId d_log(Graph& g, ValueId a, ValueId) { return append(g, Op::reciprocal, {a}); }
ValueId d_sqrt(Graph& g, ValueId, ValueId y) { return build::divide(g, build::constant(g, 0.5F), y); }
ValueId d_reciprocal(Graph& g, ValueId, ValueId y) { return build::negate(g, build::multiply(g, y, y)); }
ValueId d_sigmoid(Graph& g, ValueId, ValueId y) { return build::multiply(g, y, build::subtract(g, build::constant(g, 1), y)); }
ValueId d_tanh(Graph& g, ValueId, ValueId y) { return build::subtract(g, build::constant(g, 1), build::multiply(g, y, y)); }
ValueId d_erf(Graph& g, ValueId a, ValueId) {
  const ValueId bell = append(g, Op::exp, {build::negate(g, build::multiply(g, a, a))});
  return build::multiply(g, bell, build::constant(g, static_cast<float>(2 * std::numbers::inv_sqrtpi)));
}
ValueId d_softplus(Graph& g, ValueId a, ValueId) { return append(g, Op::sigmoid, {a}); }
ValueId d_sine(Graph& g, ValueId a, ValueId) { return append(g, Op::cosine, {a}); }
ValueId d_cosine(Graph& g, ValueId a, ValueId) { return build::negate(g, append(g, Op::sine, {a})); }

constexpr OpDefinition kUnaryFamily[] = {
    unary<Op::negate>("negate", "y = -a", vjp_negate, 0b1),
    unary<Op::absolute>("absolute", "y = |a|", vjp<d_absolute>),
    unary<Op::sign>("sign", "y = -1, 0 or 1", vjp_zero),
    unary<Op::step>("step", "y = 1 where a > 0, else 0", vjp_zero),
    unary<Op::relu>("relu", "y = max(a, 0)", vjp<d_relu>),
    unary<Op::exp>("exp", "y = e^a", vjp<d_exp>),
    unary<Op::log>("log", "y = ln a", vjp<d_log>),
    unary<Op::sqrt>("sqrt", "y = a^(1/2)", vjp<d_sqrt>),
    unary<Op::reciprocal>("reciprocal", "y = 1 / a", vjp<d_reciprocal>),
    unary<Op::sigmoid>("sigmoid", "y = 1 / (1 + e^-a)", vjp<d_sigmoid>),
    unary<Op::tanh>("tanh", "y = tanh a", vjp<d_tanh>),
    unary<Op::erf>("erf", "y = erf a", vjp<d_erf>),
    unary<Op::softplus>("softplus", "y = ln(1 + e^a)", vjp<d_softplus>),
    unary<Op::sine>("sine", "y = sin a", vjp<d_sine>),
    unary<Op::cosine>("cosine", "y = cos a", vjp<d_cosine>),
    unary<Op::floor>("floor", "y = the largest integer that is not above a", vjp_zero),
    unary<Op::round>("round", "y = the nearest integer, halves to the even one", vjp_zero),
};

}  // namespace

std::span<const OpDefinition> unary_family() { return kUnaryFamily; }

}  // namespace probust::ops
