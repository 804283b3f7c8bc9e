// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cli/command_line.h"

namespace probust::cli {

/// Adds a command that analyses rows, either those of a run, or new estimates of a model on data with the options of
/// `estimate`. `threshold` is passed to add_decision_options.
Added<Arguments> add_analysis(CommandLine& line, const std::string& name, const std::string& what, int (*run)(const Arguments&),
                              const std::string& threshold = "--threshold,--decision-threshold");

}  // namespace probust::cli
