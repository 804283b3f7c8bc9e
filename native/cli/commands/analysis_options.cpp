// SPDX-License-Identifier: MIT
#include "cli/commands/analysis_options.h"

#include "cli/options.h"
#include "cli/run/results.h"
#include "datasets/dataset.h"
#include "probust/base/error.h"

namespace probust::cli {
namespace {

constexpr const char* kEstimating = "With a model and data, as for estimate";

void refuse_estimating_options(const Command& command) {
  const std::string given = command.given_of_group(kEstimating);
  if (!given.empty()) {
    throw Error{ErrorCode::usage, given, "applies only when estimating, but this run already has its rows",
                "leave it out, or give a model and data"};
  }
}

}  // namespace

Added<Arguments> add_analysis(CommandLine& line, const std::string& name, const std::string& what, int (*run)(const Arguments&),
                              const std::string& threshold) {
  Added<Arguments> added = line.add<Arguments>(name, what, [&line, name, run](const Arguments& arguments) {
    if (is_run(arguments.model)) refuse_estimating_options(line.command(name));
    return run(arguments);
  });
  auto& [command, own] = added;
  add_model(command, own);
  add_decision_options(command, own, threshold);
  command.option("MODEL").describe("a run (.sqlite), or an ONNX file");
  command.add_option("DATA", own.data.path, "with an ONNX file: " + known_formats());
  add_data_options(command, own);
  add_device_options(command, own);
  add_question_options(command, own);
  command.group_options(kEstimating, {"--sigma", "--noise", "--estimator"});  // these also select rows of a run
  command.add_flag("--json", own.json, "print one JSON object");
  command.add_option("--plot", own.analysis.plot, "also write a chart to this .svg file");
  command.add_flag("--quiet", own.quiet, "do not print progress on stderr");
  return added;
}

}  // namespace probust::cli
