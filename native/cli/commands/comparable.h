// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/run/results.h"
#include "probust/base/error.h"

namespace probust::cli {

/// Checks that p may be compared between two runs: throws Error{unreadable} about `path`, the file of `run`, if its data or
/// event differ from those of `baseline`. Entries that only one of the two configurations has are not compared. Without labels,
/// warns if the preprocessing differs.
void require_comparable(const RunResults& baseline, const RunResults& run, const std::string& path);

/// Calls `compare`, which compares the rows of two runs. In an Error about "the run", replaces these words with `path`.
template <class Compare>
auto comparing(const std::string& path, Compare&& compare) {
  try {
    return std::forward<Compare>(compare)();
  } catch (Error& error) {
    if (error.where == "the run") error.where = path;
    throw;
  }
}

/// The name of a run's file, with the model's name if there is one, such as "run.sqlite, model small".
std::string run_text(const std::string& path, const std::string& model);

/// A list of points such as "7, 9, 11", with "..." after the eighth if there are more.
std::string points_text(const std::vector<std::int64_t>& points);

}  // namespace probust::cli
