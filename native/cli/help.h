// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
class Formatter;
}  // namespace CLI

namespace probust::cli {

/// CLI11's help in lines no longer than the terminal ($COLUMNS, or its own width, or 100 columns; at least 40). A continued line
/// is indented to its second column, if it has one, otherwise like the line.
std::shared_ptr<CLI::Formatter> wrapped_help();

/// A suggestion for words that `app` does not know: "did you mean --sigma?", or "see probust --help".
std::string suggestion(const CLI::App& app, int argc, const char* const* argv);

}  // namespace probust::cli
