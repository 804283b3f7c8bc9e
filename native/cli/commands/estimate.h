// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "cli/arguments.h"
#include "cli/run/destination.h"
#include "cli/run/plan.h"
#include "cli/run/problem.h"

namespace probust::cli {

/// Opens and returns the destination. Called after the first model and the data have been loaded.
using OpenDestination = std::function<Destination*(const Problem&)>;

/// Computes the estimates of all models of a command, block by block. If mpirun started this process, shares the work with the
/// other ranks; only rank 0 opens a destination. Returns the exit status. Throws Error.
int estimate_into(const Arguments& arguments, const Plan& plan, const OpenDestination& open);

/// The command `estimate`, except for --plan. Returns the exit status. Throws Error.
int run_estimate(const Arguments& arguments);

}  // namespace probust::cli
