// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cli/command_line.h"

namespace probust::cli {

/// Adds a command that analyses rows: those of an existing run, or new ones, which are computed from a model and data with the
/// options of `estimate`. `threshold` is passed to add_decision_options.
Added<Arguments> add_analysis(CommandLine& line, const std::string& name, const std::string& what, int (*run)(const Arguments&),
                              const std::string& threshold = "--threshold,--decision-threshold");

}  // namespace probust::cli
