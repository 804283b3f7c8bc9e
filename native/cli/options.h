// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "cli/arguments.h"
#include "cli/command.h"

namespace probust::cli {

/// The command-line option for a field of the library's options: "--input-shape" for "input_shape".
std::string as_flag(std::string_view field);

// Adds groups of options that several commands share.
void add_model(const Command& command, Arguments& arguments);

/// Adds the options that determine how the model's output becomes a class. `threshold` lists the names of the option for the
/// decision threshold; it omits "--threshold" if the command has another option of that name.
void add_decision_options(const Command& command, Arguments& arguments,
                          const std::string& threshold = "--threshold,--decision-threshold");
void add_data(const Command& command, Arguments& arguments);  ///< DATA and the options of add_data_options
void add_data_options(const Command& command, Arguments& arguments);
void add_device_options(const Command& command, Arguments& arguments);

/// Adds the options of commands that show images of a run: where the data and models are, and how many noisy samples to draw.
void add_picture_options(const Command& command, Arguments& arguments);

/// Adds the options of `reproduce` that select the experiments and their data.
void add_reproduce_options(const Command& command, Arguments& arguments);

/// Adds the options of `estimate` for noise, estimators, budget and target, and sets the footer that explains the estimators.
void add_question_options(const Command& command, Arguments& arguments);

/// Converts data options to text and back. A run stores the text, so that its data can be read again.
std::string data_options_text(const DataArguments& data);
DataArguments parse_data_options(const std::string& path, const std::string& text);

/// Parses a line of a list of benchmark problems, "MODEL DATA [data options] --sigma S[,S...]". Options that the line omits are
/// those of `defaults`. Throws Error{usage} about `where`.
Arguments parse_problem(const std::string& line, const std::string& where, const Arguments& defaults);

}  // namespace probust::cli
