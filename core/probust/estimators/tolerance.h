// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "probust/graph/graph.h"
#include "probust/noise/noise.h"

// Regression models: the probability that every output stays within a tolerance of what it is at the point,
//
//   P[|f_k(x + eps) - f_k(x)| < gamma for k = 1 .. K],
//
// as the survival of one class of a classifier of the point [x, f(x)] whose noise leaves f(x) alone, so that every estimator
// answers. Where f is linear its margins are, and p = Phi((gamma - m) / s) - Phi((-gamma - m) / s) has both tails as p_fail.
namespace probust {

/// The classifier with logits [f(x) - f - gamma, f - f(x) - gamma, 0], [2K + 1], of points [d + K], for a regression model f
/// [K] of points with d elements. Its classes: output k below the tolerance, output k above it, and, the last and the one that
/// ties lose, all within. Throws Error{usage} unless gamma is positive and finite.
Graph within_tolerance(const Graph& regression, double gamma);

/// Its points [N, d + K]: x [N, ...], each with the outputs [N, K] at it behind.
Tensor with_outputs(const Tensor& x, const Tensor& outputs);

/// Its noise: `shape` on the first d elements, none on the K outputs.
std::shared_ptr<const NoiseShape> on_inputs(std::shared_ptr<const NoiseShape> shape, std::int64_t d, std::int64_t outputs);

}  // namespace probust
