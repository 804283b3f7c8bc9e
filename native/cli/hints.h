// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "cli/run/plan.h"
#include "cli/run/problem.h"

namespace probust::cli {

/// Prints "clean accuracy 91.25% (73 of 80)" to stderr, preceded by `of`. Prints nothing if no point has a label.
void report_accuracy(const std::string& of, std::int64_t correct, std::int64_t labelled);

/// Reports shards that have no points, which happens if there are fewer blocks than shards. Prints nothing with --quiet.
void report_empty_shards(const Problem& problem, const Plan& plan, const Shard& shard);

}  // namespace probust::cli
