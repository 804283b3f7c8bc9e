// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "cli/arguments.h"
#include "cli/command.h"

namespace probust::cli {

/// The flag for a field of the library's options: "--input-shape" for "input_shape".
std::string as_flag(std::string_view field);

// Groups of options shared by several commands.
void add_model(const Command& command, Arguments& arguments);

/// How the model's numbers become a class. `threshold` names its option: "--threshold", unless the command has another of that
/// name.
void add_decision_options(const Command& command, Arguments& arguments,
                          const std::string& threshold = "--threshold,--decision-threshold");
void add_data(const Command& command, Arguments& arguments);  ///< DATA and the options of add_data_options
void add_data_options(const Command& command, Arguments& arguments);
void add_device_options(const Command& command, Arguments& arguments);

/// Which experiments `reproduce` repeats, on what.
void add_reproduce_options(const Command& command, Arguments& arguments);

/// What `estimate` asks: noise, estimators, budget, target. Sets the footer that explains the estimators.
void add_question_options(const Command& command, Arguments& arguments);

/// The data options as they would be typed, and the options that such a text says: a run remembers how to read its data.
std::string data_options_text(const DataArguments& data);
DataArguments parse_data_options(const std::string& path, const std::string& text);

/// "MODEL DATA [data options] --sigma S[,S...]": one line of a list of problems; options it omits come from `defaults`. Throws
/// Error{usage} naming `where`.
Arguments parse_problem(const std::string& line, const std::string& where, const Arguments& defaults);

}  // namespace probust::cli
