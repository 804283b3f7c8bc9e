// SPDX-License-Identifier: MIT
// The interface through which the files in commands/ declare their commands and options. Only files in this folder include the
// parser itself, CLI11, because it adds six seconds to the compile time of each file that includes it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace probust::cli {

/// An option of a command. The functions below restrict the option's values or change its help.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  CommandOption& required();
  CommandOption& show_default();                     ///< shows the default in the option's help
  CommandOption& describe(const std::string& text);  ///< replaces the option's help
  CommandOption& at_least(std::int64_t least);       ///< accepts only integers that are at least this large
  CommandOption& between(double low, double high);
  CommandOption& one_of(const std::vector<std::string>& values);
  CommandOption& count(int least, int most);  ///< limits the number of values
  CommandOption& separated_by_commas();       ///< "a,b,c" are three values

  /// Accepts a list only as one argument, "a,b,c", or as a repeated option. Otherwise, an option before the positional
  /// arguments would take the model's name as an element of its list.
  CommandOption& one_argument_each();

 private:
  CLI::Option* option_;
};

/// A handle for a command of the parser. Copies refer to the same command.
class Command {
 public:
  explicit Command(CLI::App& command) : command_(&command) {}

  /// Adds an option ("--sigma" or "-o,--output") or a positional argument ("MODEL"). `value` receives the value: a string, an
  /// integer, a double, or a list or optional of one of these. `value` must live as long as the parser.
  template <class T>
  CommandOption add_option(const std::string& names, T& value, const std::string& text) const;
  CommandOption add_flag(const std::string& name, bool& value, const std::string& text) const;
  /// Adds an option whose text is passed to `read`.
  CommandOption add_option_function(const std::string& name, const std::function<void(const std::string&)>& read,
                                    const std::string& text) const;

  CommandOption option(const std::string& name) const;  ///< an option that was added earlier
  void set_footer(const std::string& text) const;       ///< sets the text below the command's help
  void set_footer(std::function<std::string()> text) const;

  /// Moves the options added so far to a group of the help, except positional arguments and the options in `except`.
  void group_options(const std::string& group, const std::vector<std::string>& except) const;
  /// The name of an option of this group that the user specified; empty if there is none.
  std::string given_of_group(const std::string& group) const;

 private:
  CLI::App* command_;
};

/// Parses a text that contains only the options that `add` declares. Returns the error message, which is empty on success.
std::string parse_options(const std::string& text, const std::function<void(const Command&)>& add);

}  // namespace probust::cli
