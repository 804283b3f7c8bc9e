// SPDX-License-Identifier: MIT
// probust report: a run, or the comparison of two runs, as one HTML page.
#include <filesystem>
#include <optional>

#include "cli/command_line.h"
#include "cli/commands/comparable.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output/pictures.h"
#include "cli/output/text_file.h"
#include "cli/run/results.h"
#include "datasets/unwritable.h"
#include "report/page.h"

namespace probust::cli {
namespace {

report::Run about(const std::string& path, RunResults read) {
  report::shorten_noises(read.results);
  return {std::filesystem::path(path).filename().string(), std::move(read.results), std::move(read.configuration),
          std::move(read.information), std::move(read.class_names)};
}

int run_report(const Arguments& arguments) {
  require_ending("--output", arguments.output, ".html");
  require_writable(arguments.output);
  RunResults read = read_results(arguments.runs[0]);
  std::optional<report::Run> other;
  if (arguments.runs.size() > 1) {
    RunResults second = read_results(arguments.runs[1]);
    require_comparable(read, second, arguments.runs[1]);
    other = about(arguments.runs[1], std::move(second));
  }
  const report::Run run = about(arguments.runs[0], std::move(read));
  const report::Pictures pictures =
      pictures_of(run.configuration, run.information, arguments.analysis.images, report::pictured_points(run));
  write_text_file(arguments.output,
                  comparing(arguments.runs.back(), [&] { return report::page(run, pictures, other ? &*other : nullptr); }));
  if (!pictures.missing.empty() && !arguments.quiet) say("{}\n", pictures.missing);
  return 0;
}

}  // namespace

void describe_report(CommandLine& line) {
  auto [command, own] = line.add<Arguments>("report", "write a run as one HTML page of charts, tables and images", run_report);
  command
      .add_option("RUN", own.runs,
                  ".sqlite file written by estimate -o, and optionally another on the same points to compare with")
      .required()
      .count(1, 2);
  command.add_option("-o,--output", own.output, ".html file to write").required();
  command.add_option("--data", own.analysis.images, "the run's data, for images, if the files have moved");
  command.add_flag("--quiet", own.quiet, "do not report missing images on stderr");
}

}  // namespace probust::cli
