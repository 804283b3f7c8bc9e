// SPDX-License-Identifier: MIT
#pragma once

#include "probust/exec/executor.h"

// What every executor asks of what it is given, whatever its device. All throw Error.
namespace probust {

/// One input, and one vector of logits.
void check_classifier(const Graph& graph);

/// The N of x [N, ...], whose rows must have as many elements as the model takes.
std::int64_t checked_rows(const Executor& executor, const Tensor& x);

/// Points as check(executor, points) wants them, whose noise fits them.
void check(const Executor& executor, const Points& points, const NoiseShape& shape);

}  // namespace probust
