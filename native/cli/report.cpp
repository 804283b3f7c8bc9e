// SPDX-License-Identifier: MIT
// probust report: a run as one HTML page.
#include <filesystem>

#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/pictures.h"
#include "cli/results.h"
#include "cli/text_file.h"
#include "report/page.h"

namespace probust::cli {

int run_report(const Arguments& arguments) {
  require_ending("--output", arguments.output, ".html");
  RunResults read = read_results(arguments.run);
  const report::Run run{std::filesystem::path(arguments.run).filename().string(), std::move(read.results),
                        std::move(read.configuration), std::move(read.information), std::move(read.class_names)};
  const report::Pictures pictures =
      pictures_of(run.configuration, run.information, arguments.images, report::pictured_points(run));
  write_text_file(arguments.output, report::page(run, pictures));
  if (!pictures.missing.empty() && !arguments.quiet) say("{}\n", pictures.missing);
  return 0;
}

}  // namespace probust::cli
