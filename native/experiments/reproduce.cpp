// SPDX-License-Identifier: MIT
// probust-reproduce: repeats the papers' experiments on one data set.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/command_line.h"
#include "cli/messages.h"
#include "cli/output/text_file.h"
#include "experiments/program.h"
#include "experiments/publish.h"

namespace probust::cli {
namespace {

using namespace reproduce;  // NOLINT(google-build-using-namespace): this command is its only user

// The experiment of this name, or all experiments if the name is "all".
std::vector<const Experiment*> chosen(const std::string& name) {
  std::vector<const Experiment*> experiments;
  std::string known = "all";
  for (const Experiment& experiment : all_experiments()) {
    if (name == "all" || name == experiment.name) experiments.push_back(&experiment);
    known += ", " + std::string(experiment.name);
  }
  if (experiments.empty()) throw Error{ErrorCode::usage, "EXPERIMENT", "cannot be '" + name + "'", "use one of " + known};
  return experiments;
}

void print(const Done& done) {
  for (const Claim& claim : done.findings.claims)
    fmt::print("{:<12} {:<13} {}\n{:<26} {}\n", done.experiment->name, text_of(claim.verdict), claim.paper, "", claim.found);
  std::fflush(stdout);
}

int run_experiments(const Arguments& arguments) {
  const std::vector<const Experiment*> experiments = chosen(arguments.reproduce.experiment);
  Study study(arguments);
  const std::string page = experiments.size() == 1 ? arguments.reproduce.experiment + "/report.html" : "report.html";
  std::vector<Done> all;
  for (const Experiment* experiment : experiments) {
    if (!arguments.quiet) say("== {}\n", experiment->name);
    Done done{experiment, experiment->run(study)};
    write_files(study, done);
    print(done);
    all.push_back(std::move(done));
    write_text_file(study.path(page), report_page(study, all));
  }
  fmt::print("{}\n", study.path(page));
  return 0;
}

std::string list_of_experiments() {
  std::string text = "Experiments:\n";
  for (const Experiment& experiment : all_experiments())
    text += fmt::format("  {:<16} {}; {}\n", experiment.name, experiment.title, experiment.paper);
  return text;
}

}  // namespace
}  // namespace probust::cli

int probust_reproduce(int argc, char** argv) {
  return probust::cli::run_reproduce(argc, argv, probust::cli::run_experiments, probust::cli::list_of_experiments());
}
