// SPDX-License-Identifier: MIT
// probust hello: greets a number of times.
#include "cli/command_line.h"

namespace probust::cli {
namespace {

struct HelloArguments : Arguments {
  int times = 0;
};

int run_hello(const HelloArguments& arguments) { return arguments.times; }

}  // namespace

void describe_hello(CommandLine& line) {
  auto [command, own] = line.add<HelloArguments>("hello", "a greeting", run_hello);
  command.add_option("TIMES", own.times, "how often").required();
}

}  // namespace probust::cli
