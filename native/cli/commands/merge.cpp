// SPDX-License-Identifier: MIT
// probust merge: joins the shards of a run.
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "cli/clock.h"
#include "cli/command_line.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/run/first_check.h"
#include "cli/run/plan.h"
#include "cli/run/results.h"
#include "datasets/unwritable.h"
#include "probust/base/text.h"
#include "store/run_file.h"

namespace probust::cli {
namespace {

store::Configuration without_shard(store::Configuration configuration) {
  std::erase_if(configuration, [](const auto& entry) { return entry.first == "shard_unit"; });
  for (auto& [name, value] : configuration) {
    if (name == "shard") value.clear();
  }
  return configuration;
}

// Checks that the runs are shards of one run, and that each shard of that run is given exactly once.
void check_shards(const std::vector<std::string>& runs, const std::vector<store::Configuration>& configurations) {
  std::set<std::int64_t> parts;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Arguments of_run;
    of_run.shard = store::value_of(configurations[i], "shard");
    if (of_run.shard.empty())
      throw Error{ErrorCode::usage, runs[i], "is not a shard", "give runs written by estimate " + option("shard")};
    const Shard shard = parse_shard(of_run);
    if (!parts.insert(shard.part).second)
      throw Error{ErrorCode::usage, runs[i], fmt::format("is shard {}, which is given twice", of_run.shard),
                  "give each shard once"};
    if (shard.parts != std::ssize(runs))
      throw Error{ErrorCode::usage, runs[i],
                  fmt::format("is one of {} shards, but only {} given", shard.parts,
                              runs.size() == 1 ? "one is" : fmt::format("{} are", runs.size())),
                  "give all of them"};
    store::require_same(runs[i], without_shard(configurations[i]), without_shard(configurations[0]));
  }
}

// A shard to read, and its information.
struct Part {
  store::RunFile run;
  store::Configuration information;
  std::int64_t points;  // planned number of points
};

// Reads a shard. Throws if it is not complete.
Part complete_part(const std::string& path) {
  store::RunFile run = store::RunFile::read(path);
  store::Configuration information = run.information();
  const std::int64_t planned = parse_integer(store::value_of(information, "points")).value_or(0);
  if (store::value_of(information, "finished").empty()) {
    std::set<std::int64_t> indices;
    for (const PointRecord& point : run.results().points) indices.insert(point.index);
    throw Error{ErrorCode::usage, path, fmt::format("is incomplete: it has {} of {} points", indices.size(), planned),
                "repeat its estimate command first to complete it"};
  }
  return {std::move(run), std::move(information), planned};
}

void refuse_overwritten_parts(const Arguments& arguments) {
  for (const std::string& path : arguments.runs) {
    std::error_code unlike;  // keeps equivalent() from throwing if the output does not exist
    if (std::filesystem::equivalent(path, arguments.output, unlike))
      throw Error{ErrorCode::usage, "--output", fmt::format("is '{}', which is the input {}", arguments.output, path),
                  "choose another file"};
  }
}

// The information about the whole run: that of the first shard, with the commands of all shards and the total numbers of points
// and seconds.
store::Configuration information_of(const std::vector<Part>& parts, const std::string& command) {
  std::string commands;
  std::int64_t points = 0;
  double seconds = 0;
  for (const Part& part : parts) {
    commands += store::value_of(part.information, "command") + "\n";
    points += part.points;
    seconds += parse_double(store::value_of(part.information, "seconds")).value_or(0);
  }
  store::Configuration information = parts.front().information, checks;
  for (const Part& part : parts) checks = joined_checks(checks, part.information);
  std::erase_if(information, [](const auto& entry) {
    return entry.first == "warnings" || entry.first == "checked" || entry.first == "hints";
  });
  information.insert(information.end(), checks.begin(), checks.end());
  for (auto& [name, value] : information) {
    if (name == "command") value = commands + command;
    if (name == "points") value = std::to_string(points);
    if (name == "seconds") value = fmt::format("{:.1f}", seconds);
    if (name == "finished") value.clear();  // set when everything has been written
  }
  return information;
}

int run_merge(const Arguments& arguments) {
  if (!is_run(arguments.output))
    throw Error{ErrorCode::usage, "--output", "is '" + arguments.output + "', which does not end in .sqlite", "try all.sqlite"};
  refuse_overwritten_parts(arguments);
  require_writable(arguments.output);
  std::vector<store::Configuration> configurations;
  for (const std::string& run : arguments.runs) configurations.push_back(store::RunFile::read(run).configuration());
  check_shards(arguments.runs, configurations);
  std::vector<Part> parts;
  for (const std::string& run : arguments.runs) parts.push_back(complete_part(run));
  const auto mode = arguments.force_new ? store::RunFile::Mode::replace : store::RunFile::Mode::resume;
  store::RunFile merged = store::RunFile::open(arguments.output, without_shard(configurations[0]), mode);
  const store::Configuration information = information_of(parts, arguments.command);
  merged.set_information(information);
  for (const Part& part : parts) merged.append(part.run.results());
  merged.set_information({{"finished", utc_text()}});
  say("{} points, {} rows\n", store::value_of(information, "points"), merged.rows());
  return 0;
}

}  // namespace

void describe_merge(CommandLine& line) {
  auto [command, own] = line.add<Arguments>("merge", "join the shards of a run", run_merge);
  command.add_option("RUN", own.runs, ".sqlite files of all shards").required();
  command.add_option("-o,--output", own.output, ".sqlite file to write").required();
  command.add_flag("--force-new", own.force_new, "replace the output if it exists");
}

}  // namespace probust::cli
