// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "probust/normal/univariate.h"
#include "probust/ops/build.h"
#include "support/evaluate.h"

// Classifiers with closed-form robustness.
namespace probust::test {

inline ValueId two_logits(Graph& g, ValueId margin) {
  return append(g, Op::concat, {build::reshape(g, margin, {1}), append_constant(g, Tensor({1}))}, AxisAttribute{0});
}

/// The rule "class 0 if x_1 > a_1 and x_2 > a_2" of Scher and Trügler, appendix A.2.
inline Graph right_angle(float a1, float a2) {
  Graph g;
  const ValueId x = append_input(g, {2}, Extent::example, "x");
  const ValueId past = build::subtract(g, x, append_constant(g, Tensor({2}, {a1, a2})));
  const ValueId first = append(g, Op::slice, {past}, SliceAttributes{{0}, {1}, {1}});
  const ValueId second = append(g, Op::slice, {past}, SliceAttributes{{1}, {1}, {1}});
  g.outputs = {two_logits(g, append(g, Op::minimum, {first, second}))};
  return g;
}

/// The probability of the same prediction under independent Gaussian noise. x is in class 0 if it is beyond both thresholds.
inline double right_angle_kept(double past1, double past2, double sigma1, double sigma2) {
  const double corner = normal::cdf(past1 / sigma1) * normal::cdf(past2 / sigma2);
  return past1 > 0 && past2 > 0 ? corner : 1 - corner;
}

/// The distance to the nearest counterfactual (their appendix A.2).
inline double right_angle_distance(double past1, double past2) {
  if (past1 > 0 && past2 > 0) return std::min(past1, past2);
  return std::hypot(std::min(past1, 0.0), std::min(past2, 0.0));
}

/// |x|² for x [d].
inline ValueId squared_length(Graph& g, ValueId x) {
  return build::reshape(g, build::reduce_sum(g, build::multiply(g, x, x), {0}), {1});
}

/// Class 0 is inside a ball, so the boundary is quadratic.
inline Graph ball(std::int64_t d, float radius) {
  Graph g;
  const ValueId x = append_input(g, {d}, Extent::example, "x");
  g.outputs = {two_logits(g, build::subtract(g, append_constant(g, Tensor({1}, {radius * radius})), squared_length(g, x)))};
  return g;
}

/// Class 0 is inside the ellipsoid with these half axes [d].
inline Graph ellipsoid(const Tensor& half_axes) {
  Graph g;
  const ValueId x = append_input(g, half_axes.shape, Extent::example, "x");
  const ValueId length = squared_length(g, build::divide(g, x, append_constant(g, half_axes)));
  g.outputs = {two_logits(g, build::subtract(g, append_constant(g, Tensor({1}, {1})), length))};
  return g;
}

/// The distance from a point inside the ellipsoid to its surface: at the nearest point y, y_k = a_k^2 x_k / (a_k^2 - t).
inline double ellipsoid_distance(std::span<const float> half_axes, std::span<const float> x) {
  const auto nearest = [&](double t, std::size_t k) {
    return half_axes[k] * half_axes[k] * x[k] / (half_axes[k] * half_axes[k] - t);
  };
  double low = 0, high = std::pow(*std::min_element(half_axes.begin(), half_axes.end()), 2);
  for (int halving = 0; halving < 200; ++halving) {
    const double t = (low + high) / 2;
    double length = 0;
    for (std::size_t k = 0; k < x.size(); ++k) length += std::pow(nearest(t, k) / half_axes[k], 2);
    (length < 1 ? low : high) = t;
  }
  double square = 0;
  for (std::size_t k = 0; k < x.size(); ++k) square += std::pow(nearest(low, k) - x[k], 2);
  return std::sqrt(square);
}

/// Class 0 is between two radii.
inline Graph annulus(std::int64_t d, float inner, float outer) {
  Graph g;
  const ValueId x = append_input(g, {d}, Extent::example, "x");
  const ValueId length = squared_length(g, x);
  const ValueId past_inner = build::subtract(g, length, append_constant(g, Tensor({1}, {inner * inner})));
  const ValueId within = build::subtract(g, append_constant(g, Tensor({1}, {outer * outer})), length);
  g.outputs = {two_logits(g, build::multiply(g, past_inner, within))};
  return g;
}

/// P(|x + sigma w| > radius) in three dimensions, where the noncentral chi-square distribution has a closed form; l = |x|.
inline double outside_ball(double l, double radius, double sigma) {
  const double r = radius / sigma, c = l / sigma;
  const double tails = normal::complement(r - c) + normal::complement(r + c);
  if (c < 1e-6) return 2 * normal::complement(r) + 2 * r * normal::pdf(r);
  return tails + (normal::pdf(r - c) - normal::pdf(r + c)) / c;
}

}  // namespace probust::test
