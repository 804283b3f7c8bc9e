// SPDX-License-Identifier: MIT
// probust report: a run as one HTML page, or two of them compared.
#include <filesystem>
#include <optional>

#include "cli/commands.h"
#include "cli/comparable.h"
#include "cli/messages.h"
#include "cli/pictures.h"
#include "cli/results.h"
#include "cli/text_file.h"
#include "datasets/unwritable.h"
#include "report/page.h"

namespace probust::cli {
namespace {

report::Run about(const std::string& path, RunResults read) {
  report::shorten_noises(read.results);
  return {std::filesystem::path(path).filename().string(), std::move(read.results), std::move(read.configuration),
          std::move(read.information), std::move(read.class_names)};
}

}  // namespace

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
      pictures_of(run.configuration, run.information, arguments.images, report::pictured_points(run));
  write_text_file(arguments.output,
                  comparing(arguments.runs.back(), [&] { return report::page(run, pictures, other ? &*other : nullptr); }));
  if (!pictures.missing.empty() && !arguments.quiet) say("{}\n", pictures.missing);
  return 0;
}

}  // namespace probust::cli
