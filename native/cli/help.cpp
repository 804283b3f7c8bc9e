// SPDX-License-Identifier: MIT
#include "cli/help.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "probust/base/similar.h"
#include "probust/base/text.h"

namespace probust::cli {
namespace {

// The indentation of continuation lines: that of the second column if the line has one, otherwise that of its first word.
std::size_t indentation(const std::string& line) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = line.find("  ", begin);
  return gap == std::string::npos ? begin : std::min(line.find_first_not_of(' ', gap), line.size());
}

std::string wrapped_line(std::string line, std::size_t width) {
  const std::size_t indent = indentation(line);
  std::string text;
  while (line.size() > width) {
    const std::size_t space = line.rfind(' ', width);
    if (space == std::string::npos || space <= indent) break;  // one long word
    text += line.substr(0, space) + "\n";
    line = std::string(indent, ' ') + line.substr(space + 1);
  }
  return text + line;
}

// Adds line breaks between words so that no line is longer than `width`, unless a single word is. Keeps existing breaks.
std::string wrapped(std::string_view text, int width) {
  std::vector<std::string> lines = split(std::string(text), '\n');
  std::string result;
  for (std::string& line : lines) result += wrapped_line(std::move(line), static_cast<std::size_t>(width)) + "\n";
  result.pop_back();
  return result;
}

// Formats help as CLI11 does, in lines that are no longer than `width`.
class WrappedHelp final : public CLI::Formatter {
 public:
  explicit WrappedHelp(int width) : width_(width) {}

  std::string make_option_desc(const CLI::Option* option) const override { return described(option->get_description()); }
  std::string make_subcommand(const CLI::App* command) const override {
    std::stringstream out;
    CLI::detail::format_help(out, command->get_name(), described(command->get_description()), get_column_width());
    return out.str();
  }
  std::string make_description(const CLI::App* app) const override { return wrapped(app->get_description(), width_) + "\n"; }
  std::string make_footer(const CLI::App* app) const override {
    const std::string footer = app->get_footer();
    return footer.empty() ? "" : wrapped(footer, width_) + "\n";
  }

 private:
  std::string described(const std::string& text) const {
    return wrapped(text, std::max(20, width_ - static_cast<int>(get_column_width())));
  }

  int width_;
};

// The terminal's width in columns, at least 40: $COLUMNS if it is set, otherwise what the terminal reports, otherwise 100.
int terminal_width() {
  constexpr int kDefault = 100, kLeast = 40;
  const char* columns = std::getenv("COLUMNS");
  const auto given = columns == nullptr ? std::nullopt : parse_integer(columns);
  winsize size{};
  const bool terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return std::max(kLeast, static_cast<int>(given.value_or(terminal ? size.ws_col : kDefault)));
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& known) {
  const std::vector<std::string> similar = similar_words(typed, known);
  return similar.empty() ? "" : "did you mean " + join(similar, " or ") + "?";
}

}  // namespace

std::shared_ptr<CLI::Formatter> wrapped_help() { return std::make_shared<WrappedHelp>(terminal_width()); }

std::string suggestion(const CLI::App& app, int argc, const char* const* argv) {
  std::string hint;
  const CLI::App* command = nullptr;
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands({})) {
    names.push_back(each->get_name());
    if (argc > 1 && names.back() == argv[1]) command = each;
  }
  if (command == nullptr) {
    if (argc > 1) hint = did_you_mean(argv[1], names);
    return hint.empty() ? "use " + join(names, " or ") + ", or see probust --help" : hint;
  }
  std::vector<std::string> flags;
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  for (int i = 2; i < argc && hint.empty(); ++i) {
    const std::string flag = split(argv[i], '=')[0];
    if (flag.starts_with("--") && std::find(flags.begin(), flags.end(), flag) == flags.end()) hint = did_you_mean(flag, flags);
  }
  return hint.empty() ? "see probust " + command->get_name() + " --help" : hint;
}

}  // namespace probust::cli
