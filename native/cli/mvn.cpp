// SPDX-License-Identifier: MIT
// probust mvn: multivariate normal probabilities; one JSON line out for each JSON line in, in order.
#include <iostream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/mvn_lines.h"
#include "probust/base/parallel.h"

namespace probust::cli {

int run_mvn(const Arguments& arguments) {
  const int threads = thread_count(arguments.device);
  const std::size_t block = threads > 1 ? 256 : 1;  // lines answered together; a single thread answers each at once
  std::ios::sync_with_stdio(false);
  std::vector<std::string> lines;
  bool more = true;
  while (more) {
    lines.clear();
    std::string line;
    while (lines.size() < block && (more = static_cast<bool>(std::getline(std::cin, line)))) lines.push_back(line);
    parallel_for(static_cast<std::int64_t>(lines.size()), threads,
                 [&](std::int64_t i, int) { lines[i] = answer_mvn_line(lines[i]); });
    for (const std::string& answer : lines) std::cout << answer << '\n';
    std::cout.flush();
  }
  return 0;
}

}  // namespace probust::cli
