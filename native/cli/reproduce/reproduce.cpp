// SPDX-License-Identifier: MIT
// probust reproduce: the papers' experiments on one data set.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/reproduce/publish.h"
#include "cli/text_file.h"

namespace probust::cli {
namespace {

using namespace reproduce;  // NOLINT(google-build-using-namespace): this command is its only user

// One by name, or all.
std::vector<const Experiment*> chosen(const std::string& name) {
  std::vector<const Experiment*> experiments;
  std::string known = "all";
  for (const Experiment& experiment : all_experiments()) {
    if (name == "all" || name == experiment.name) experiments.push_back(&experiment);
    known += ", " + std::string(experiment.name);
  }
  if (experiments.empty()) throw Error{ErrorCode::usage, "EXPERIMENT", "'" + name + "' is unknown", "give one of: " + known};
  return experiments;
}

void print(const Done& done) {
  for (const Claim& claim : done.findings.claims)
    fmt::print("{:<12} {:<13} {}\n{:<26} {}\n", done.experiment->name, text_of(claim.verdict), claim.paper, "", claim.found);
  std::fflush(stdout);
}

}  // namespace

int run_reproduce(const Arguments& arguments) {
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

}  // namespace probust::cli
