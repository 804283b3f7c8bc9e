// SPDX-License-Identifier: MIT
// probust merge: the shards of a run as one run.
#include <fmt/format.h>

#include <set>

#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/plan.h"
#include "cli/results.h"
#include "probust/base/text.h"
#include "store/run_file.h"

namespace probust::cli {
namespace {

store::Configuration without_shard(store::Configuration configuration) {
  for (auto& [name, value] : configuration) {
    if (name == "shard") value.clear();
  }
  return configuration;
}

// The shards, of as many parts as there are runs, each once.
void check_shards(const std::vector<std::string>& runs, const std::vector<store::Configuration>& configurations) {
  std::set<std::int64_t> parts;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Arguments of_run;
    of_run.shard = store::value_of(configurations[i], "shard");
    if (of_run.shard.empty())
      throw Error{ErrorCode::usage, runs[i], "is not a shard", "give runs of estimate " + option("shard")};
    const Shard shard = parse_shard(of_run);
    if (!parts.insert(shard.part).second)
      throw Error{ErrorCode::usage, runs[i], fmt::format("is shard {}, which was given before", of_run.shard),
                  "give each shard once"};
    if (shard.parts != std::ssize(runs))
      throw Error{ErrorCode::usage, runs[i], fmt::format("is one of {} shards, and {} are given", shard.parts, runs.size()),
                  "give all of them"};
    store::require_same(runs[i], without_shard(configurations[i]), without_shard(configurations[0]));
  }
}

// How many points the shard has. Throws if they are not complete.
std::int64_t check_complete(const std::string& path, const Results& results, const store::Configuration& information) {
  const std::int64_t planned = parse_integer(store::value_of(information, "points")).value_or(0);
  if (!store::value_of(information, "finished").empty()) return planned;
  std::set<std::int64_t> indices;
  for (const PointRecord& point : results.points) indices.insert(point.index);
  throw Error{ErrorCode::usage, path, fmt::format("is not finished: it has {} of {} points", indices.size(), planned),
              "repeat its estimate command first, which goes on where it ended"};
}

}  // namespace

int run_merge(const Arguments& arguments) {
  if (!is_run(arguments.output))
    throw Error{ErrorCode::usage, "--output", "'" + arguments.output + "' does not end in .sqlite",
                "name for example all.sqlite"};
  std::vector<store::Configuration> configurations;
  for (const std::string& run : arguments.runs) configurations.push_back(store::RunFile::read(run).configuration());
  check_shards(arguments.runs, configurations);
  const auto mode = arguments.force_new ? store::RunFile::Mode::replace : store::RunFile::Mode::resume;
  store::RunFile merged = store::RunFile::open(arguments.output, without_shard(configurations[0]), mode);
  std::int64_t points = 0;
  double seconds = 0;
  for (const std::string& path : arguments.runs) {
    const store::RunFile run = store::RunFile::read(path);
    const Results results = run.results();
    const store::Configuration information = run.information();
    points += check_complete(path, results, information);
    seconds += parse_double(store::value_of(information, "seconds")).value_or(0);
    merged.set_information(information);
    merged.append(results);
  }
  merged.set_information({{"points", std::to_string(points)}, {"seconds", fmt::format("{:.1f}", seconds)}});
  merged.rest();
  say("{} points, {} rows\n", points, merged.rows());
  return 0;
}

}  // namespace probust::cli
