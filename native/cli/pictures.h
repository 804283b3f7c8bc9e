// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "cli/arguments.h"
#include "cli/results.h"
#include "report/picture.h"

namespace probust::cli {

/// Points of a run as pictures, or the reason why there are none.
struct Pictures {
  std::map<std::int64_t, report::Picture> of_point;  ///< by position in the data
  std::string missing;                               ///< a sentence for people; empty if all points are there
};

/// Reads the points at positions `which` again: from `data`, or if that is empty from where the run read them. The file must be
/// the one that the run read; other data options are those of the run. Throws nothing: a file that is gone is a reason.
Pictures pictures_of(const RunResults& run, const std::string& data, std::span<const std::int64_t> which);

}  // namespace probust::cli
