// SPDX-License-Identifier: MIT
#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <utility>

namespace probust::cli {

CommandOption& CommandOption::required() {
  option_->required();
  return *this;
}

CommandOption& CommandOption::show_default() {
  option_->capture_default_str();
  return *this;
}

CommandOption& CommandOption::describe(const std::string& text) {
  option_->description(text);
  return *this;
}

CommandOption& CommandOption::at_least(std::int64_t least) {
  const auto check = [least](const std::string& text) -> std::string {
    std::int64_t value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= least) return {};
    return "'" + text + "' is not a whole number of at least " + std::to_string(least);
  };
  option_->check({check, ">= " + std::to_string(least)});
  return *this;
}

CommandOption& CommandOption::between(double low, double high) {
  option_->check(CLI::Range(low, high));
  return *this;
}

CommandOption& CommandOption::one_of(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return *this;
}

CommandOption& CommandOption::count(int least, int most) {
  option_->expected(least, most);
  return *this;
}

CommandOption& CommandOption::separated_by_commas() {
  option_->delimiter(',');
  return *this;
}

CommandOption& CommandOption::one_argument_each() {
  option_->allow_extra_args(false);
  return *this;
}

template <class T>
CommandOption Command::add_option(const std::string& names, T& value, const std::string& text) const {
  return CommandOption(command_->add_option(names, value, text));
}

template CommandOption Command::add_option(const std::string&, std::string&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, int&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::int64_t&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::uint64_t&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, double&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::optional<std::int64_t>&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::optional<double>&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::vector<std::string>&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::vector<std::int64_t>&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::vector<double>&, const std::string&) const;

CommandOption Command::add_flag(const std::string& name, bool& value, const std::string& text) const {
  return CommandOption(command_->add_flag(name, value, text));
}

CommandOption Command::add_option_function(const std::string& name, const std::function<void(const std::string&)>& read,
                                           const std::string& text) const {
  return CommandOption(command_->add_option_function<std::string>(name, read, text));
}

CommandOption Command::option(const std::string& name) const { return CommandOption(command_->get_option(name)); }

void Command::set_footer(const std::string& text) const { command_->footer(text); }

void Command::set_footer(std::function<std::string()> text) const { command_->footer(std::move(text)); }

void Command::group_options(const std::string& group, const std::vector<std::string>& except) const {
  for (CLI::Option* option : command_->get_options()) {
    const std::string name = option->get_name();
    if (option->get_positional() || name == "--help" || std::find(except.begin(), except.end(), name) != except.end()) continue;
    option->group(group);
  }
}

std::string Command::given_of_group(const std::string& group) const {
  for (const CLI::Option* option : std::as_const(*command_).get_options()) {
    if (option->get_group() == group && option->count() > 0) return option->get_name();
  }
  return {};
}

std::string parse_options(const std::string& text, const std::function<void(const Command&)>& add) {
  CLI::App app;
  add(Command(app));
  try {
    app.parse(text);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return {};
}

}  // namespace probust::cli
