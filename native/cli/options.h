// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "cli/arguments.h"

namespace probust::cli {

/// Whole numbers from `least` on.
CLI::Validator at_least(std::int64_t least);

/// A list stands in one argument, "a,b,c", or comes by giving the option again: what follows it may be the model.
void one_argument_each(std::initializer_list<CLI::Option*> lists);

// Groups of options that several commands share.
void add_model(CLI::App& command, Arguments& arguments);
void add_data_options(CLI::App& command, Arguments& arguments);
void add_device_options(CLI::App& command, Arguments& arguments);

/// "MODEL DATA [data options] --sigma S[,S...]": one line of a list of problems, over what `defaults` say. Throws Error{usage}
/// naming `where`.
Arguments parse_problem(const std::string& line, const std::string& where, const Arguments& defaults);

}  // namespace probust::cli
