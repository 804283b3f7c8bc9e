// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
class Formatter;
}  // namespace CLI

namespace probust::cli {

/// Formats help as CLI11 does, but in lines that fit the terminal. The width is $COLUMNS or, if that is not set, what the
/// terminal reports, or else 100 columns; it is at least 40. Continuation lines are indented to the second column if there is
/// one, otherwise like the first line.
std::shared_ptr<CLI::Formatter> wrapped_help();

/// A suggestion for words that are not commands or options of `app`, such as "did you mean --sigma?" or "see probust --help".
std::string suggestion(const CLI::App& app, int argc, const char* const* argv);

}  // namespace probust::cli
