// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
class Formatter;
}  // namespace CLI

namespace probust::cli {

/// CLI11's help in lines no longer than the terminal ($COLUMNS, or what it says, or 100 columns; at least 40). A continued line
/// is indented to the second column, if the line has one, or else as the line is.
std::shared_ptr<CLI::Formatter> wrapped_help();

/// What someone may have meant who gave words that `app` does not know: "did you mean --sigma?", or "see probust --help".
std::string suggestion(const CLI::App& app, int argc, const char* const* argv);

}  // namespace probust::cli
