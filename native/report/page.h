// SPDX-License-Identifier: MIT
//
// A run as one HTML page that needs no other file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "probust/analysis/results.h"
#include "report/gallery.h"

namespace probust::report {

/// Names and values, as in store::RunFile.
using Entries = std::vector<std::pair<std::string, std::string>>;

/// The value of an entry; empty if it is not there.
std::string entry_of(const Entries& entries, const std::string& name);

/// What a report is about.
struct Run {
  std::string file;  ///< its name
  Results results;
  Entries configuration, information;
  std::vector<std::string> class_names;  ///< may be empty
};

/// The points whose pictures a report shows, as positions in the data.
std::vector<std::int64_t> pictured_points(const Run& run);

/// The report.
std::string page(const Run& run, const Pictures& pictures);

}  // namespace probust::report
