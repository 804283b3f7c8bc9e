// SPDX-License-Identifier: MIT
#pragma once

#include "cli/run/plan.h"

namespace probust::cli {

/// estimate --plan: prints what the command would cost, by model, noise and estimator: passes, time and memory. Times are those
/// of a few points, which are estimated and discarded. Returns the exit status. Throws Error.
int print_cost(const Arguments& arguments, const Plan& plan);

}  // namespace probust::cli
