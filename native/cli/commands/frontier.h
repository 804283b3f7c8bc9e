// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "cli/arguments.h"

namespace probust::cli {

struct BenchArguments : Arguments {
  bool frontier = false;
  std::string references;               ///< path of a file of reference probabilities; empty for none
  std::string reference = "mc:100000";  ///< the estimator of the reference probabilities
  std::int64_t seeds = 1;
};

/// `bench --frontier`: compares the errors of estimators at equal cost. Returns the exit status. Throws Error.
int run_frontier(const BenchArguments& arguments);

}  // namespace probust::cli
