// SPDX-License-Identifier: MIT
//
// The results that the analysis commands use: those of a run, or new estimates of a model on data.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "probust/analysis/results.h"
#include "store/run_file.h"

namespace probust::cli {

struct RunResults {
  Results results;
  store::Configuration configuration, information;  ///< as in store::RunFile
  std::vector<std::string> class_names;             ///< may be empty
  std::vector<std::string> warnings{};              ///< warnings of the check before the estimates
};

/// Whether a path has the extension of a run, .sqlite.
bool is_run(const std::string& path);

/// Reads a run. Throws Error: unreadable, usage (the run has no rows).
RunResults read_results(const std::string& run);

/// For commands whose arguments are RUN, or MODEL DATA and the options of `estimate`: reads the run that arguments.model names,
/// or computes estimates. Throws Error.
RunResults results_of(const Arguments& arguments);

}  // namespace probust::cli
