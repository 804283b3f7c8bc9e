// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cli/command_line.h"

namespace probust::cli {

/// Adds a command that computes something from rows: those of a run, or those of a model and data as for `estimate`.
/// `threshold` is the name of the option of add_decision_options.
Added<Arguments> add_analysis(CommandLine& line, const std::string& name, const std::string& what, int (*run)(const Arguments&),
                              const std::string& threshold = "--threshold,--decision-threshold");

}  // namespace probust::cli
