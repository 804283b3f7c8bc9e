// SPDX-License-Identifier: MIT
#pragma once

#include "probust/exec/executor.h"

// Checks of arguments that all executors share. All of them throw Error.
namespace probust {

/// Requires one input and one output, a vector of logits.
void check_classifier(const Graph& graph);

/// The number of rows N of x [N, ...]. Rows must have as many elements as the model's input.
std::int64_t checked_rows(const Executor& executor, const Tensor& x);

/// Like check(executor, points), and also requires that the noise fits the points.
void check(const Executor& executor, const Points& points, const NoiseShape& shape);

/// Like check(executor, points, shape). If points share draws, also requires draws for at least `pairs` pairs.
void check_pairs(const Executor& executor, const Points& points, const NoiseShape& shape, std::int64_t pairs);

}  // namespace probust
