// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
class Formatter;
}  // namespace CLI

namespace probust::cli {

/// CLI11's help in lines that fit the terminal ($COLUMNS, its own width, or 100 columns; at least 40). Continued lines are
/// indented to the second column, if there is one, otherwise like the line.
std::shared_ptr<CLI::Formatter> wrapped_help();

/// A suggestion if `app` does not know the words: "did you mean --sigma?" or "see probust --help".
std::string suggestion(const CLI::App& app, int argc, const char* const* argv);

}  // namespace probust::cli
