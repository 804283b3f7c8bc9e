// SPDX-License-Identifier: MIT
// probust reproduce: starts the program of the papers' experiments (native/experiments).
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cli/command_line.h"
#include "cli/options.h"
#include "modules/find_module.h"
#include "probust/base/error.h"

namespace probust::cli {

int start_experiments(std::vector<std::string> words) {
  constexpr const char* kProgram = "probust-reproduce";
  const std::filesystem::path program = find_module(kProgram);
  if (!program.empty()) {
    words[0] = kProgram;
    std::vector<char*> pointers(words.size() + 1, nullptr);
    std::transform(words.begin(), words.end(), pointers.begin(), [](std::string& word) { return word.data(); });
    execv(program.c_str(), pointers.data());
  }
  throw Error{ErrorCode::resources, kProgram, program.empty() ? "is not next to this program" : "cannot be started",
              "install it with this program, or build the target probust_reproduce"};
}

// Declares the options only for the manual: the program probust-reproduce parses them and prints its own help.
void describe_reproduce(CommandLine& line) {
  auto [command, own] = line.add<Arguments>(kReproduce, kAboutReproduce, [](const Arguments&) -> int {
    throw Error{ErrorCode::usage, "the command line", "has options before 'reproduce'",
                "put all options after 'probust reproduce'"};
  });
  add_reproduce_options(command, own);
  command.set_footer("`probust reproduce --help` lists the experiments.");
}

}  // namespace probust::cli
