// SPDX-License-Identifier: MIT
#include "cli/manual.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "probust/base/text.h"

namespace probust::cli {
namespace {

struct Option {
  std::vector<std::string> names;  // such as "--sigma", or "MODEL" for a positional argument
  bool positional = false, value = false;
  std::string text;
};

struct CommandText {
  std::string name, text, footer;
  std::vector<Option> options;
};

std::vector<Option> options_of(const CLI::App& command) {
  std::vector<Option> options;
  for (const CLI::Option* each : command.get_options()) {
    if (each == command.get_help_ptr()) continue;
    Option option{.names = {},
                  .positional = each->get_positional(),
                  .value = !each->get_type_name().empty(),
                  .text = each->get_description()};
    if (option.positional) {
      option.names = {each->get_name(true)};
    } else {
      for (const std::string& name : each->get_snames()) option.names.push_back("-" + name);
      for (const std::string& name : each->get_lnames()) option.names.push_back("--" + name);
    }
    options.push_back(std::move(option));
  }
  std::stable_partition(options.begin(), options.end(), [](const Option& option) { return option.positional; });
  return options;
}

std::vector<CommandText> commands_of(const CLI::App& app) {
  std::vector<CommandText> commands;
  for (const CLI::App* each : app.get_subcommands({}))
    commands.push_back({each->get_name(), each->get_description(),
                        each->get_footer() == app.get_footer() ? "" : each->get_footer(), options_of(*each)});
  return commands;
}

std::string synopsis(const CommandText& command) {
  std::string text = "probust " + command.name;
  for (const Option& option : command.options) {
    if (option.positional) text += " " + option.names[0];
  }
  return text + " [OPTIONS]";
}

std::string replaced(const std::string& text, const std::map<char, std::string>& replacements) {
  std::string result;
  for (const char c : text) {
    const auto found = replacements.find(c);
    result += found == replacements.end() ? std::string(1, c) : found->second;
  }
  return result;
}

// Escapes text for roff, which treats a line that begins with a dot or an apostrophe as a request.
std::string roff(const std::string& text) {
  std::string result;
  for (const std::string& line : split(replaced(text, {{'\\', "\\e"}, {'-', "\\-"}}), '\n'))
    result += (line.starts_with('.') || line.starts_with('\'') ? "\\&" : "") + line + "\n";
  result.pop_back();
  return result;
}

// Lines that roff must not reflow, such as footers, which have columns.
std::string roff_lines(const std::string& text) { return text.empty() ? "" : ".PP\n.nf\n" + roff(text) + "\n.fi\n"; }

std::string man_page(const CLI::App& app) {
  std::string page = fmt::format(".TH PROBUST 1 \"\" \"probust {}\"\n.SH NAME\nprobust \\- {}\n", PROBUST_VERSION,
                                 roff("the probability that a classifier's prediction survives noise"));
  page += ".SH SYNOPSIS\n.B probust\n.I COMMAND\n[ARGUMENTS] [OPTIONS]\n.SH COMMANDS\n";
  for (const CommandText& command : commands_of(app)) {
    page += fmt::format(".SS {}\n{}\n", roff(synopsis(command)), roff(command.text));
    for (const Option& option : command.options)
      page += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(join(option.names, ", ")),
                          option.value && !option.positional ? " \\fIVALUE\\fR" : "", roff(option.text));
    page += roff_lines(command.footer);
  }
  return page + ".SH EXIT STATUS\n" + roff_lines(app.get_footer());
}

std::string markdown(const CLI::App& app) {
  const auto cell = [](const std::string& text) { return replaced(text, {{'|', "\\|"}, {'<', "&lt;"}, {'\n', " "}}); };
  const auto block = [](const std::string& text) { return text.empty() ? "" : "```text\n" + text + "\n```\n\n"; };
  std::string page;
  for (const CommandText& command : commands_of(app)) {
    page += fmt::format("## {}\n\n{}.\n\n```text\n{}\n```\n\n| option | meaning |\n|---|---|\n", command.name, cell(command.text),
                        synopsis(command));
    for (const Option& option : command.options)
      page += fmt::format("| `{}{}` | {} |\n", fmt::join(option.names, "`, `"),
                          option.value && !option.positional ? " VALUE" : "", cell(option.text));
    page += "\n" + block(command.footer);
  }
  return page + "## Exit statuses\n\n" + block(app.get_footer());
}

std::vector<std::string> flags_of(const CommandText& command) {
  std::vector<std::string> flags;
  for (const Option& option : command.options) {
    if (!option.positional) flags.insert(flags.end(), option.names.begin(), option.names.end());
  }
  return flags;
}

std::string bash(const CLI::App& app) {
  std::string names, cases;
  for (const CommandText& command : commands_of(app)) {
    names += (names.empty() ? "" : " ") + command.name;
    cases += fmt::format("    {}) options='{}' ;;\n", command.name, fmt::join(flags_of(command), " "));
  }
  return fmt::format(R"(# Completion of probust for bash.
_probust() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} options=
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- "$word")
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  case $word in
    -*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
  esac
}}
complete -o filenames -F _probust probust
)",
                     names, cases);
}

// A word in single quotes for a shell, on one line.
std::string quoted(const std::string& text, const std::string& quote) {
  return "'" + replaced(text, {{'\'', quote}, {'\n', " "}}) + "'";
}

std::string fish(const CLI::App& app) {
  std::string text = "# Completion of probust for fish.\n";
  for (const CommandText& command : commands_of(app)) {
    text += fmt::format("complete -c probust -n __fish_use_subcommand -a {} -d {}\n", command.name, quoted(command.text, "\\'"));
    for (const Option& option : command.options) {
      if (option.positional) continue;
      text += fmt::format("complete -c probust -n '__fish_seen_subcommand_from {}'", command.name);
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      text += fmt::format("{} -d {}\n", option.value ? " -r" : "", quoted(option.text, "\\'"));
    }
  }
  return text;
}

std::string zsh(const CLI::App& app) {
  std::string names, cases;
  for (const CommandText& command : commands_of(app)) {
    names += "    " + quoted(command.name + ":" + command.text, "'\\''") + "\n";
    cases += fmt::format("  {}) _arguments '*:file:_files'", command.name);
    for (const Option& option : command.options) {
      for (const std::string& name : option.positional ? std::vector<std::string>{} : option.names) {
        const std::string text = replaced(option.text, {{'[', "("}, {']', ")"}});
        cases +=
            fmt::format(" \\\n    {}", quoted(fmt::format("{}[{}]{}", name, text, option.value ? ":value:_files" : ""), "'\\''"));
      }
    }
    cases += " ;;\n";
  }
  return fmt::format(R"(#compdef probust
local -a commands
if (( CURRENT == 2 )); then
  commands=(
{}  )
  _describe command commands
  return
fi
local command=$words[2]
shift words
(( CURRENT-- ))
case $command in
{}esac
)",
                     names, cases);
}

}  // namespace

const std::vector<std::string>& manual_formats() {
  static const std::vector<std::string> formats = {"man", "markdown", "bash", "fish", "zsh"};
  return formats;
}

std::string manual(const CLI::App& app, const std::string& format) {
  if (format == "markdown") return markdown(app);
  if (format == "bash") return bash(app);
  if (format == "fish") return fish(app);
  if (format == "zsh") return zsh(app);
  return man_page(app);
}

}  // namespace probust::cli
