// SPDX-License-Identifier: MIT
#pragma once

#include "cli/arguments.h"

namespace probust::cli {

// Each command prints its results on stdout and returns the exit status; errors are thrown as Error.
int run_inspect(const Arguments& arguments);
int run_logits(const Arguments& arguments);
int run_jacobian(const Arguments& arguments);
int run_estimate(const Arguments& arguments);
int run_export(const Arguments& arguments);
int run_merge(const Arguments& arguments);
int run_report(const Arguments& arguments);
int run_mvn(const Arguments& arguments);
int run_bench(const Arguments& arguments);
int run_frontier(const Arguments& arguments);  ///< bench --frontier
int run_compare(const Arguments& arguments);
int run_gate(const Arguments& arguments);  ///< 1 if a threshold is not met
int run_train(const Arguments& arguments);
int run_reproduce(const Arguments& arguments);
int run_data(const Arguments& arguments);
int run_version(const Arguments& arguments);
int run_summary(const Arguments& arguments);
int run_bias(const Arguments& arguments);
int run_rank(const Arguments& arguments);
int run_curve(const Arguments& arguments);
int run_agree(const Arguments& arguments);
int run_distance(const Arguments& arguments);
int run_curvature(const Arguments& arguments);
int run_check(const Arguments& arguments);

inline constexpr int kInterrupted = 130;

}  // namespace probust::cli
