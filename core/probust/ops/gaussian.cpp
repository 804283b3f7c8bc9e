// SPDX-License-Identifier: MIT
// Moments of a rectified normal variable X with mean a and variance b, element by element; with s = b^(1/2) and t = a / s:
//   relu_mean       E = E max(X, 0) = a Phi(t) + s phi(t)
//   relu_variance   V = Var max(X, 0) = (a^2 + b) Phi(t) + a s phi(t) - E^2
//   normal_cdf      P(X > 0) = Phi(t)
//   normal_density  of X at 0: phi(t) / s
// The family is closed: the derivative of E f(X) is E f'(X) with respect to a, and E f''(X) / 2 with respect to b (Price's
// theorem). Variances below 1e-30 are replaced by 1e-30; at or below this value, the density is 0.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "probust/ops/build.h"
#include "probust/ops/families.h"

namespace probust::ops {
namespace {

constexpr double kLeast = 1e-30;

Shape infer_gaussian(const Attributes&, std::span<const Shape> in) {
  if (in[0] != in[1])
    misfit("for a normal variable",
           "has a mean " + to_string(in[0]) + " and a variance " + to_string(in[1]) + " of different shapes");
  return in[0];
}

double density(double t) { return std::exp(-t * t / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2; }
double upper_tail(double t) { return 0.5 * std::erfc(t / std::numbers::sqrt2); }

// E max(Z - t, 0) and Var max(Z - t, 0) for a standard normal Z and t >= 0.
double mean_beyond(double t) { return density(t) - t * upper_tail(t); }
double variance_beyond(double t) {
  const double mean = mean_beyond(t);
  return (t * t + 1) * upper_tail(t) - t * density(t) - mean * mean;
}

// max(X, 0) = X + max(-X, 0), so both signs of the mean reduce to the smaller tail, and nothing cancels.
double relu_mean(double a, double b) { return (a < 0 ? 0 : a) + std::sqrt(b) * mean_beyond(std::fabs(a) / std::sqrt(b)); }
double relu_variance(double a, double b) {
  const double t = std::fabs(a) / std::sqrt(b), smaller = b * std::max(0.0, variance_beyond(t));
  return a > 0 ? smaller + b * (1 - 2 * upper_tail(t)) : smaller;
}
double normal_cdf(double a, double b) { return upper_tail(-a / std::sqrt(b)); }
double normal_density(double a, double b) { return b > kLeast ? density(a / std::sqrt(b)) / std::sqrt(b) : 0; }

template <double (*function)(double, double)>
void eval(const Attributes&, std::span<const Tensor* const> in, Tensor& y) {
  for (std::size_t i = 0; i < y.data.size(); ++i)
    y.data[i] = static_cast<float>(function(in[0]->data[i], std::max(kLeast, double{in[1]->data[i]})));
}

using build::constant;
using build::multiply;

ValueId cdf(Graph& g, ValueId y) { return append(g, Op::normal_cdf, std::vector<ValueId>(g[y].inputs)); }
ValueId pdf(Graph& g, ValueId y) { return append(g, Op::normal_density, std::vector<ValueId>(g[y].inputs)); }
ValueId mean(Graph& g, ValueId y) { return append(g, Op::relu_mean, std::vector<ValueId>(g[y].inputs)); }

// The value a / b.
ValueId mean_by_variance(Graph& g, ValueId y) {
  const ValueId a = g[y].inputs[0], b = g[y].inputs[1];
  return build::divide(g, a, append(g, Op::maximum, {b, constant(g, static_cast<float>(kLeast))}));
}

ValueId vjp_relu_mean(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  return multiply(g, c, operand == 0 ? cdf(g, y) : multiply(g, constant(g, 0.5F), pdf(g, y)));
}

ValueId vjp_relu_variance(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  const ValueId e = mean(g, y), above = cdf(g, y);
  if (operand == 1) return multiply(g, c, build::subtract(g, above, multiply(g, e, pdf(g, y))));
  const ValueId below = build::subtract(g, constant(g, 1), above);
  return multiply(g, c, multiply(g, constant(g, 2), multiply(g, e, below)));
}

ValueId vjp_normal_cdf(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  const ValueId by_mean = pdf(g, y);
  if (operand == 0) return multiply(g, c, by_mean);
  return multiply(g, c, multiply(g, constant(g, -0.5F), multiply(g, mean_by_variance(g, y), by_mean)));
}

ValueId vjp_normal_density(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  const ValueId ratio = mean_by_variance(g, y);
  if (operand == 0) return multiply(g, c, build::negate(g, multiply(g, ratio, y)));
  const ValueId a = g[y].inputs[0], b = g[y].inputs[1];
  const ValueId least = append(g, Op::maximum, {b, constant(g, static_cast<float>(kLeast))});
  const ValueId excess = build::divide(g, build::subtract(g, multiply(g, a, ratio), constant(g, 1)), least);
  return multiply(g, c, multiply(g, constant(g, 0.5F), multiply(g, excess, y)));
}

double flops_gaussian(const Attributes&, std::span<const Shape>, const Shape& y) { return 20 * count(y); }

constexpr OpDefinition kGaussianFamily[] = {
    {Op::relu_mean, "relu_mean", "y = E max(X, 0), X normal of mean a and variance b", 2, 2, infer_gaussian, eval<relu_mean>,
     vjp_relu_mean, flops_gaussian},
    {Op::relu_variance, "relu_variance", "y = Var max(X, 0), X normal of mean a and variance b", 2, 2, infer_gaussian,
     eval<relu_variance>, vjp_relu_variance, flops_gaussian},
    {Op::normal_cdf, "normal_cdf", "y = P(X > 0), X normal of mean a and variance b", 2, 2, infer_gaussian, eval<normal_cdf>,
     vjp_normal_cdf, flops_gaussian},
    {Op::normal_density, "normal_density", "y = the density at 0 of X, normal of mean a and variance b", 2, 2, infer_gaussian,
     eval<normal_density>, vjp_normal_density, flops_gaussian},
};

}  // namespace

std::span<const OpDefinition> gaussian_family() { return kGaussianFamily; }

}  // namespace probust::ops
