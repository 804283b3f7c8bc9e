// SPDX-License-Identifier: MIT
#pragma once

#include "probust/exec/executor.h"

// Checks of arguments that all executors share. All throw Error.
namespace probust {

/// Requires one input, and one vector of logits as output.
void check_classifier(const Graph& graph);

/// The N of x [N, ...]. Rows must have as many elements as the model's input.
std::int64_t checked_rows(const Executor& executor, const Tensor& x);

/// check(executor, points), and the noise must fit the points.
void check(const Executor& executor, const Points& points, const NoiseShape& shape);

/// The same, and if points share draws, these must be those of at least `pairs` pairs.
void check_pairs(const Executor& executor, const Points& points, const NoiseShape& shape, std::int64_t pairs);

}  // namespace probust
