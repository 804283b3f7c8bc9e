// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"

namespace CLI {
class App;
}

namespace probust::cli {

/// A command that was added, and the arguments that its options set. The arguments exist as long as the parser.
template <typename Own>
struct Added {
  Command command;
  Own& own;
};

/// The words of the command line, and the commands that they may name.
class CommandLine {
 public:
  /// `words` begin with the program's name.
  CommandLine(CLI::App& app, std::vector<std::string> words);

  /// Adds a command that calls `run`, which prints its results on stdout and returns the exit status, or throws Error. `Own` is
  /// Arguments or a class derived from it, with the options that only this command has.
  template <typename Own>
  Added<Own> add(const std::string& name, const std::string& what, std::function<int(const Own&)> run) {
    const auto own = std::make_shared<Own>();
    own->command = typed();
    const Command command = add(name, what, [own, run = std::move(run)] {
      refuse_overwriting(*own);
      return run(*own);
    });
    return {command, *own};
  }

  CLI::App& app() { return app_; }
  Command command(const std::string& name) const;  ///< a command that was added earlier

  /// Runs the command that the parsed words name, and returns the exit status.
  int run() const { return chosen_(); }

 private:
  Command add(const std::string& name, const std::string& what, std::function<int()> run);
  std::string typed() const;

  CLI::App& app_;
  std::vector<std::string> words_;
  std::function<int()> chosen_;
};

/// Adds all commands, which all_commands.cpp lists.
void describe_all(CommandLine& line);

inline constexpr const char* kReproduce = "reproduce";
inline constexpr const char* kAboutReproduce = "repeat the papers' experiments and check their claims, as one HTML page";

/// Replaces this process with the program probust-reproduce, with these words as its arguments. Throws Error if the program is
/// missing.
int start_experiments(std::vector<std::string> words);

/// Parses main's arguments, runs the command, and returns the exit status. Prints errors to stderr and throws nothing.
int run(int argc, char** argv);

/// Like run(), but for the program probust-reproduce, whose arguments are those of the command `reproduce`. Runs `body`; the
/// help ends with `footer`.
int run_reproduce(int argc, char** argv, int (*body)(const Arguments&), const std::string& footer);

inline constexpr int kInterrupted = 130;

}  // namespace probust::cli
