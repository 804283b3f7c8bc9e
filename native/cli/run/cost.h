// SPDX-License-Identifier: MIT
#pragma once

#include "cli/run/plan.h"

namespace probust::cli {

/// estimate --plan: prints the passes, time and memory of the command by model, noise and estimator. Times are measured on a
/// few points, whose estimates are discarded. Returns the exit status. Throws Error.
int print_cost(const Arguments& arguments, const Plan& plan);

}  // namespace probust::cli
