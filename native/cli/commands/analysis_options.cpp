// SPDX-License-Identifier: MIT
#include "cli/commands/analysis_options.h"

#include <CLI/CLI.hpp>

#include "cli/options.h"
#include "cli/run/results.h"
#include "datasets/dataset.h"
#include "probust/base/error.h"

namespace probust::cli {
namespace {

constexpr const char* kEstimating = "With a model and data, as for estimate";

// All options so far, apart from those that also select rows of a run.
void group_estimating_options(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->get_positional() || name == "--help" || name == "--sigma" || name == "--noise" || name == "--estimator") continue;
    option->group(kEstimating);
  }
}

void refuse_estimating_options(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group() == kEstimating && option->count() > 0) {
      throw Error{ErrorCode::usage, option->get_name(), "says how to estimate, and the rows of a run are there already",
                  "leave it out, or give a model and data"};
    }
  }
}

}  // namespace

Added<Arguments> add_analysis(CommandLine& line, const std::string& name, const std::string& what, int (*run)(const Arguments&),
                              const std::string& threshold) {
  Added<Arguments> added = line.add<Arguments>(name, what, [&line, name, run](const Arguments& arguments) {
    if (is_run(arguments.model)) refuse_estimating_options(*line.app().get_subcommand(name));
    return run(arguments);
  });
  auto& [command, own] = added;
  add_model(command, own);
  add_decision_options(command, own, threshold);
  command.get_option("MODEL")->description("a run (.sqlite), or an ONNX file");
  command.add_option("DATA", own.data.path, "with an ONNX file: " + known_formats());
  add_data_options(command, own);
  add_device_options(command, own);
  add_question_options(command, own);
  group_estimating_options(command);
  command.add_flag("--json", own.json, "one JSON object");
  command.add_option("--plot", own.analysis.plot, "also draw a chart to this .svg file");
  command.add_flag("--quiet", own.quiet, "no progress on stderr");
  return added;
}

}  // namespace probust::cli
