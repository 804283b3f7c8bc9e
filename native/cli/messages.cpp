// SPDX-License-Identifier: MIT
#include "cli/messages.h"

#include <cstdio>
#include <iostream>

#include "cli/options.h"

namespace probust::cli {

void say(std::string_view message) {
  // fmt::print is not used, because it throws.
  [[maybe_unused]] const auto written = std::fwrite(message.data(), 1, message.size(), stderr);
}

Error write_error() {
  return {ErrorCode::resources, "the output", "could not be written",
          "check that the disk is not full and that the pipe is not closed"};
}

int end_output(int status) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return status;
  const Error error = write_error();
  say("probust: {}\n", error.message(as_flag));
  return static_cast<int>(error.code);
}

}  // namespace probust::cli
