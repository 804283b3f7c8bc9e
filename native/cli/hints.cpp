// SPDX-License-Identifier: MIT
#include "cli/hints.h"

#include "cli/messages.h"
#include "probust/base/text.h"
#include "probust/estimators/statistics/pooling.h"

namespace probust::cli {

void report_accuracy(const std::string& of, std::int64_t correct, std::int64_t labelled) {
  if (labelled == 0) return;
  say("{}clean accuracy {:.2f}% ({} of {})\n", of, 100.0 * static_cast<double>(correct) / static_cast<double>(labelled), correct,
      labelled);
}

void report_empty_shards(const Problem& problem, const Plan& plan, const Shard& shard) {
  if (problem.arguments.quiet || !plan.whole_blocks) return;
  constexpr std::size_t kMost = 10;  // largest number of shards to name
  std::vector<std::string> empty;
  for (std::int64_t part = 1; part <= shard.parts && empty.size() <= kMost; ++part) {
    const Span span = span_of(problem, plan, {part, shard.parts});
    if (span.first == span.last) empty.push_back(empty.size() < kMost ? std::to_string(part) : "...");
  }
  if (empty.empty() || point_count(problem) == 0) return;
  say("probust: estimators that pool points need whole blocks of {} points, but --shard requests more parts than there are "
      "blocks: {} {} of {} {} empty; use fewer shards, or only estimators that do not pool points, such as mc\n",
      kBlock, empty.size() == 1 ? "shard" : "shards", join(empty), shard.parts, empty.size() == 1 ? "is" : "are");
}

}  // namespace probust::cli
