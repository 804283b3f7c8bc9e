// SPDX-License-Identifier: MIT
#pragma once

#include "cli/run/plan.h"

namespace probust::cli {

/// estimate --plan: prints the cost of the command by model, noise and estimator: passes, time and memory. Times are measured
/// on a few points, whose estimates are discarded. Returns the exit status. Throws Error.
int print_cost(const Arguments& arguments, const Plan& plan);

}  // namespace probust::cli
