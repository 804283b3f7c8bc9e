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
    report::shorten_noises(other->results);
  }
  report::Run run = about(arguments.runs[0], std::move(read));
  const std::map<std::string, std::string> noises = report::shorten_noises(run.results);
  const PastRun past{run.configuration, run.information, arguments.analysis.images, arguments.analysis.models};
  const report::Pictures pictures = pictures_of(past, {.rows = report::pictured_rows(run),
                                                       .samples = arguments.analysis.samples,
                                                       .sheet_point = report::point_on_sheet(run),
                                                       .sheet_noises = report::noises_on_sheet(run),
                                                       .noises = noises,
                                                       .class_names = run.class_names});
  write_text_file(arguments.output,
                  comparing(arguments.runs.back(), [&] { return report::page(run, pictures, other ? &*other : nullptr); }));
  for (const std::string& missing : {pictures.missing, pictures.wrong_missing}) {
    if (!missing.empty() && !arguments.quiet) say("{}\n", missing);
  }
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
  add_picture_options(command, own);
  command.add_flag("--quiet", own.quiet, "do not report missing images on stderr");
}

}  // namespace probust::cli
