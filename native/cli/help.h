// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace CLI {
class App;
class Formatter;
}  // namespace CLI

namespace probust::cli {

/// Columns of the terminal: $COLUMNS, or what the terminal says, or 100. At least 40.
int terminal_width();

/// The text with line breaks, so that no line is longer than `width` if words allow it. Breaks in the text stay. A continued line
/// is indented to the second column, if the line has one (after two spaces or more), or else as the line is.
std::string wrapped(std::string_view text, int width);

/// CLI11's help in lines no longer than `width`.
std::shared_ptr<CLI::Formatter> wrapped_help(int width);

/// What someone may have meant who gave words that `app` does not know: "did you mean --sigma?", or "see probust --help".
std::string suggestion(const CLI::App& app, int argc, const char* const* argv);

}  // namespace probust::cli
