// SPDX-License-Identifier: MIT
// probust manual: prints all commands and options as a man page, as shell completions or as Markdown for the documentation.
#include "cli/manual.h"

#include <cstdio>

#include "cli/command_line.h"
#include "probust/base/text.h"

namespace probust::cli {

void describe_manual(CommandLine& line) {
  auto [command, own] = line.add<Arguments>("manual", "print this manual in one piece, or completions for a shell",
                                            [&line](const Arguments& arguments) {
                                              std::fputs(manual(line.app(), arguments.format).c_str(), stdout);
                                              return 0;
                                            });
  command.add_option("--format", own.format, join(manual_formats(), ", ") + " (default: man)").one_of(manual_formats());
}

}  // namespace probust::cli
