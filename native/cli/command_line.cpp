// SPDX-License-Identifier: MIT
#include "cli/command_line.h"

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>

#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "modules/device_modules.h"
#include "probust/base/error.h"

namespace probust::cli {
namespace {

constexpr const char* kExitStatuses =
    "Exit status:\n"
    "  0    done\n"
    "  1    gate: a threshold is not met\n"
    "  2    wrong usage\n"
    "  3    a model or data file cannot be read\n"
    "  4    the model uses something that is not supported\n"
    "  5    a device is missing, memory is too small, or output cannot be written\n"
    "  6    no row, or no probability, could be computed\n"
    "  7    the run is in use, or has a different configuration\n"
    "  130  interrupted; repeat the command to resume a run";

// Initialises the process. Each program calls this first.
void begin() {
#ifdef M_MMAP_THRESHOLD
  // Without this, glibc raises its threshold when a large block is freed. It then does not return later blocks of this size to
  // the system, such as the copies of weights made by the ONNX import.
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  // Freed memory below this size stays in the process. Otherwise each batch of Jacobians gets fresh pages, and on virtual
  // machines their page faults can take several times as long as the arithmetic.
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
  use_device_modules();
  end_on_signals();
}

int report(const Error& error) {
  say("probust: {}\n", error.message(as_flag));
  return static_cast<int>(error.code);
}

// The position of the command's name among the arguments: that of the first word that is not an option; 1 if there is none.
int command_position(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] != '-') return i;
  }
  return 1;
}

// Turns a message of CLI11 into a sentence: "--threads: '0' is not a number" becomes "--threads is '0', which is not a number".
std::string as_sentence(std::string text) {
  const auto replace = [&text](std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    if (at == std::string::npos) return false;
    text.replace(at, from.size(), to);
    return true;
  };
  const bool of_option = text.starts_with("--") && text.find(": ") < text.find(' ');
  if (of_option && (replace("' is not", "', which is not") || replace(" not in range ", ", which is not in ") ||
                    replace(" not in ", ", which is not one of "))) {
    (void)(replace(": Value ", " is ") || replace(": ", " is "));
  } else if (replace("Could not convert: ", "")) {
    replace(" = ", " cannot be ");
  } else if (replace("The following argument was not expected: ", "the argument ") ||
             replace("The following arguments were not expected: ", "the arguments ")) {
    text += " cannot be used here";
  } else {
    replace("A subcommand", "a command");
  }
  return text;
}

// Reports a problem on one line. CLI11's message contains the option's name.
int usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const bool no_command = app.get_subcommands().empty() && argc > 1;
  const bool unknown = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) || no_command;
  const int before = command_position(argc, argv) - 1;  // number of options before the command, such as --help
  std::string problem = as_sentence(error.what());
  if (no_command) problem = "'" + std::string(argv[before + 1]) + "' is not a command";
  const std::string hint = unknown || argc < 2 ? suggestion(app, argc - before, argv + before)
                                               : "see probust " + app.get_subcommands().front()->get_name() + " --help";
  return report(Error{ErrorCode::usage, "", problem, hint});
}

// Parses and runs the command that the arguments name.
int run(CommandLine& line, int argc, char** argv) {
  CLI::App& app = line.app();
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
    return end_output(line.run());
  } catch (const CLI::Success& help) {
    // CLI11 handles --help and --version before it checks for unknown words.
    const std::vector<std::string> unknown = app.remaining(true);
    if (!unknown.empty()) return usage_error(app, CLI::ExtrasError(unknown), argc, argv);
    return end_output(app.exit(help));
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error, argc, argv);
  } catch (...) {
    // If a write to stdout failed, reports that, because the exception that the failure caused would look like a bug.
    return std::ferror(stdout) != 0 ? end_output(0) : report(handled_error(""));
  }
}

}  // namespace

CommandLine::CommandLine(CLI::App& app, std::vector<std::string> words) : app_(app), words_(std::move(words)) {
  app_.formatter(wrapped_help());  // commands that are added inherit it
}

Command CommandLine::command(const std::string& name) const { return Command(*app_.get_subcommand(name)); }

Command CommandLine::add(const std::string& name, const std::string& what, std::function<int()> run) {
  CLI::App* command = app_.add_subcommand(name, what);
  command->callback([this, run = std::move(run)] { chosen_ = run; });
  return Command(*command);
}

// The command line in a form that can be pasted into a shell.
std::string CommandLine::typed() const {
  std::string text = "probust";
  for (std::size_t i = 1; i < words_.size(); ++i) {
    const std::string& word = words_[i];
    const bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$`*?[]{}()<>|&;#!~") == std::string::npos;
    if (plain) {
      text += " " + word;
    } else {
      text += " '";
      for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
      text += "'";
    }
  }
  return text;
}

int run(int argc, char** argv) {
  begin();
  if (argc > 1 && std::string(argv[1]) == kReproduce) {
    try {
      return start_experiments({argv + 1, argv + argc});
    } catch (const Error& error) {
      return report(error);
    }
  }
  CLI::App app("probust: the probability that a classifier's prediction survives noise");
  app.footer(kExitStatuses);
  app.set_version_flag("--version", PROBUST_VERSION);
  CommandLine line(app, {argv, argv + argc});
  describe_all(line);
  return run(line, argc, argv);
}

int run_reproduce(int argc, char** argv, int (*body)(const Arguments&), const std::string& footer) {
  begin();
  std::string program = "probust", name = kReproduce;
  std::vector<char*> words{program.data(), name.data()};
  words.insert(words.end(), argv + 1, argv + argc);
  CLI::App app("probust-reproduce: the program behind `probust reproduce`");
  app.footer(kExitStatuses);
  CommandLine line(app, {words.begin(), words.end()});
  auto [command, own] = line.add<Arguments>(kReproduce, kAboutReproduce, body);
  add_reproduce_options(command, own);
  command.set_footer([footer] { return footer; });  // in addition to the exit statuses
  return run(line, argc + 1, words.data());
}

}  // namespace probust::cli
