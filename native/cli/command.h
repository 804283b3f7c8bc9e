// SPDX-License-Identifier: MIT
// A command and its options, as the files of commands/ declare them. Only this folder includes the parser, CLI11, because it
// adds six seconds to the compile time of each file that includes it.
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

/// An option of a command. The members restrict its values or add to its help; describe() replaces its help.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  CommandOption& required();
  CommandOption& show_default();                     ///< in its help
  CommandOption& describe(const std::string& text);  ///< replaces its help text
  CommandOption& at_least(std::int64_t least);       ///< integers from this one on
  CommandOption& between(double low, double high);
  CommandOption& one_of(const std::vector<std::string>& values);
  CommandOption& count(int least, int most);  ///< number of values
  CommandOption& separated_by_commas();       ///< "a,b,c" are three values

  /// Accepts a list as one argument, "a,b,c", or as a repeated option. Otherwise it would take the model's name as an element.
  CommandOption& one_argument_each();

 private:
  CLI::Option* option_;
};

/// A command of the parser. Copies refer to the same command.
class Command {
 public:
  explicit Command(CLI::App& command) : command_(&command) {}

  /// Adds an option or positional: "--sigma", "-o,--output", or "MODEL" for a positional. `value` receives the value: a string,
  /// an integer, a double, a list of one of them, or optional; it must live as long as the parser.
  template <class T>
  CommandOption add_option(const std::string& names, T& value, const std::string& text) const;
  CommandOption add_flag(const std::string& name, bool& value, const std::string& text) const;
  /// An option whose text is passed to `read`.
  CommandOption add_option_function(const std::string& name, const std::function<void(const std::string&)>& read,
                                    const std::string& text) const;

  CommandOption option(const std::string& name) const;  ///< an existing option
  void set_footer(const std::string& text) const;       ///< text below its help
  void set_footer(std::function<std::string()> text) const;

  /// Moves the options added so far to a group of the help, except positionals and the options in `except`.
  void group_options(const std::string& group, const std::vector<std::string>& except) const;
  /// An option of this group that was given; empty if there is none.
  std::string given_of_group(const std::string& group) const;

 private:
  CLI::App* command_;
};

/// Parses a text with the options that `add` adds. Returns the error; empty if there is none.
std::string parse_options(const std::string& text, const std::function<void(const Command&)>& add);

}  // namespace probust::cli
