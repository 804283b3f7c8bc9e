// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/run/results.h"
#include "probust/base/error.h"

namespace probust::cli {

/// Checks that p of two runs may be compared: throws Error{unreadable} about `path`, the file of `run`, if its data or the
/// event differ from those of `baseline`. Entries that one of the two configurations lacks are not compared. Without labels,
/// warns if the preprocessing differs.
void require_comparable(const RunResults& baseline, const RunResults& run, const std::string& path);

/// The same check by the rows of the two: calls `compare`, and adds the file of the run to its Error.
template <class Compare>
auto comparing(const std::string& path, Compare&& compare) {
  try {
    return std::forward<Compare>(compare)();
  } catch (Error& error) {
    if (error.where == "the run") error.where = path;
    throw;
  }
}

/// "run.sqlite", or with the name of a model "run.sqlite, model small".
std::string run_text(const std::string& path, const std::string& model);

/// "7, 9, 11": at most eight of them, followed by "...".
std::string points_text(const std::vector<std::int64_t>& points);

}  // namespace probust::cli
