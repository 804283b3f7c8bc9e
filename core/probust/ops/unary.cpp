// SPDX-License-Identifier: MIT
// y = f(a), element by element: one row per function, with its derivative as nodes in terms of a and y. Derivatives at kinks are
// those of the common frameworks: relu'(0) = 0, |.|'(0) = 0.
#include "probust/ops/unary.h"

#include <numbers>

#include "probust/ops/build.h"
#include "probust/ops/families.h"

namespace probust::ops {
namespace {

Shape infer_unary(const Attributes&, std::span<const Shape> in) { return in[0]; }

template <float (*function)(float)>
void eval(const Attributes&, std::span<const Tensor* const> in, Tensor& y) {
  for (std::size_t i = 0; i < y.data.size(); ++i) y.data[i] = function(in[0]->data[i]);
}

float negate(float x) { return -x; }
float absolute(float x) { return std::fabs(x); }
float step(float x) { return x > 0 ? 1.0F : 0.0F; }
float relu(float x) { return x < 0 ? 0.0F : x; }  // NaN stays NaN
float exponential(float x) { return std::exp(x); }
float logarithm(float x) { return std::log(x); }
float square_root(float x) { return std::sqrt(x); }
float reciprocal(float x) { return 1.0F / x; }
float hyperbolic_tangent(float x) { return std::tanh(x); }
float error_function(float x) { return std::erf(x); }
float sine(float x) { return std::sin(x); }
float cosine(float x) { return std::cos(x); }
float round_down(float x) { return std::floor(x); }
float round_to_even(float x) { return std::nearbyint(x); }

using Derivative = ValueId (*)(Graph&, ValueId a, ValueId y);

template <Derivative derivative>
ValueId vjp(Graph& g, ValueId y, std::size_t, ValueId c) {
  return build::multiply(g, c, derivative(g, g[y].inputs[0], y));
}

ValueId vjp_negate(Graph& g, ValueId, std::size_t, ValueId c) { return build::negate(g, c); }

ValueId d_absolute(Graph& g, ValueId a, ValueId) { return append(g, Op::sign, {a}); }
// Of the result, which is positive where the operand is: then only the result must be kept.
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
    {Op::negate, "negate", "y = -a", 1, 1, infer_unary, eval<negate>, vjp_negate, flops_elementwise},
    {Op::absolute, "absolute", "y = |a|", 1, 1, infer_unary, eval<absolute>, vjp<d_absolute>, flops_elementwise},
    {Op::sign, "sign", "y = -1, 0 or 1", 1, 1, infer_unary, eval<sign>, vjp_zero, flops_elementwise},
    {Op::step, "step", "y = 1 where a > 0, else 0", 1, 1, infer_unary, eval<step>, vjp_zero, flops_elementwise},
    {Op::relu, "relu", "y = max(a, 0)", 1, 1, infer_unary, eval<relu>, vjp<d_relu>, flops_elementwise},
    {Op::exp, "exp", "y = e^a", 1, 1, infer_unary, eval<exponential>, vjp<d_exp>, flops_elementwise},
    {Op::log, "log", "y = ln a", 1, 1, infer_unary, eval<logarithm>, vjp<d_log>, flops_elementwise},
    {Op::sqrt, "sqrt", "y = a^(1/2)", 1, 1, infer_unary, eval<square_root>, vjp<d_sqrt>, flops_elementwise},
    {Op::reciprocal, "reciprocal", "y = 1 / a", 1, 1, infer_unary, eval<reciprocal>, vjp<d_reciprocal>, flops_elementwise},
    {Op::sigmoid, "sigmoid", "y = 1 / (1 + e^-a)", 1, 1, infer_unary, eval<sigmoid>, vjp<d_sigmoid>, flops_elementwise},
    {Op::tanh, "tanh", "y = tanh a", 1, 1, infer_unary, eval<hyperbolic_tangent>, vjp<d_tanh>, flops_elementwise},
    {Op::erf, "erf", "y = erf a", 1, 1, infer_unary, eval<error_function>, vjp<d_erf>, flops_elementwise},
    {Op::softplus, "softplus", "y = ln(1 + e^a)", 1, 1, infer_unary, eval<softplus>, vjp<d_softplus>, flops_elementwise},
    {Op::sine, "sine", "y = sin a", 1, 1, infer_unary, eval<sine>, vjp<d_sine>, flops_elementwise},
    {Op::cosine, "cosine", "y = cos a", 1, 1, infer_unary, eval<cosine>, vjp<d_cosine>, flops_elementwise},
    {Op::floor, "floor", "y = the largest integer that is not above a", 1, 1, infer_unary, eval<round_down>, vjp_zero,
     flops_elementwise},
    {Op::round, "round", "y = the nearest integer, halves to the even one", 1, 1, infer_unary, eval<round_to_even>, vjp_zero,
     flops_elementwise},
};

}  // namespace

std::span<const OpDefinition> unary_family() { return kUnaryFamily; }

}  // namespace probust::ops
