// SPDX-License-Identifier: MIT
// probust mvn: computes multivariate normal probabilities. It reads problems as JSON lines, and writes one JSON line for each,
// in the same order.
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands/mvn_lines.h"
#include "cli/options.h"
#include "probust/base/error.h"
#include "probust/base/parallel.h"

namespace probust::cli {
namespace {

int run_mvn(const Arguments& arguments) {
  const int threads = thread_count(arguments.device);
  const std::size_t block = threads > 1 ? 256 : 1;  // number of lines solved together; one thread prints each answer immediately
  std::ios::sync_with_stdio(false);
  std::vector<std::string> lines;
  std::int64_t answered = 0, asked = 0;
  bool more = true;
  while (more) {
    lines.clear();
    std::string line;
    while (lines.size() < block && (more = static_cast<bool>(std::getline(std::cin, line)))) lines.push_back(line);
    std::vector<MvnAnswer> answers(lines.size());
    parallel_for(static_cast<std::int64_t>(lines.size()), threads,
                 [&](std::int64_t i, int) { answers[i] = answer_mvn_line(lines[i]); });
    for (const MvnAnswer& answer : answers) {
      std::cout << answer.line << '\n';
      answered += answer.answered ? 1 : 0;
    }
    asked += std::ssize(answers);
    std::cout.flush();
  }
  if (answered > 0 || asked == 0) return 0;
  throw Error{ErrorCode::numerical, "stdin", "has no line that could be evaluated", "see the status of each line"};
}

}  // namespace

void describe_mvn(CommandLine& line) {
  auto [command, own] = line.add<Arguments>("mvn", "multivariate normal probabilities, JSON lines in and out", run_mvn);
  command.add_option("--threads", own.device.threads, "number of threads").at_least(1);
  command.set_footer(
      "Each line is an object with z, the limits, and either R, their correlations (an array of rows), or U, rows of unit "
      "length\n"
      "with R = U U'. A limit may be \"inf\" or \"-inf\". An id of any kind is copied to the output. Other keys are rejected.\n"
      "A line that cannot be evaluated gets null numbers and a status that gives the reason.");
}

}  // namespace probust::cli
