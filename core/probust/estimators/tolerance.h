// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "probust/graph/graph.h"
#include "probust/noise/noise.h"

// Regression models: the probability that every output stays within a tolerance of its value at the point,
//
//   P[|f_k(x + eps) - f_k(x)| < gamma for k = 1 .. K],
//
// expressed as the survival of one class of a classifier, so that every estimator works. The classifier's point is [x, f(x)],
// with noise on x only. If f is linear, so are the margins: for one output whose change has mean m and standard deviation s,
// p = Phi((gamma - m) / s) - Phi((-gamma - m) / s), and p_fail includes both tails.
namespace probust {

/// The classifier of points [x, y] with the 2K + 1 logits [y - f(x) - gamma, f(x) - y - gamma, 0], for a regression model f
/// with d inputs and K outputs; y are the outputs without noise. The classes mean: output k is too low; output k is too high; all
/// outputs are within the tolerance (the last class, which loses ties). There is one gamma for all outputs, or one per output.
/// Throws Error{usage} unless they are positive and finite.
Graph within_tolerance(const Graph& regression, const std::vector<double>& gammas);

/// The points of this classifier [N, d + K]: each row of x [N, ...] followed by the outputs [N, K] at it.
Tensor with_outputs(const Tensor& x, const Tensor& outputs);

/// The noise for this classifier: `shape` on the first d elements, none on the K outputs.
std::shared_ptr<const NoiseShape> on_inputs(std::shared_ptr<const NoiseShape> shape, std::int64_t d, std::int64_t outputs);

}  // namespace probust
