// SPDX-License-Identifier: MIT
#include "cli/run/results.h"

#include "cli/commands/estimate.h"
#include "cli/run/first_check.h"
#include "probust/base/text.h"

namespace probust::cli {
namespace {

std::vector<std::string> class_names_in(const store::Configuration& information) {
  const std::string names = store::value_of(information, "class_names");
  return names.empty() ? std::vector<std::string>{} : split(names, '\n');
}

RunResults estimated(const Arguments& arguments) {
  const Plan plan = parse_plan(arguments);
  Collected collected;
  const int status = estimate_into(arguments, plan, [&](const Problem&) { return &collected; });
  if (status != 0)
    throw Error{ErrorCode{status}, arguments.data.path, "has no point for which p could be computed",
                "check the points for NaN and infinite values"};
  return {std::move(collected.results), configuration_of(arguments, plan), collected.information(),
          class_names_in(collected.information()), warnings_in(collected.information())};
}

}  // namespace

RunResults read_results(const std::string& path) {
  const store::RunFile run = store::RunFile::read(path);
  RunResults results{run.results(), run.configuration(), run.information(), class_names_in(run.information()),
                     warnings_in(run.information())};
  if (results.results.rows.empty()) {
    if (!store::value_of(results.information, "finished").empty())
      throw Error{ErrorCode::usage, path, "has no rows, because it is a complete shard without points",
                  "give the run that merge writes from all shards"};
    throw Error{ErrorCode::usage, path, "has no rows yet", "run its estimate command first"};
  }
  return results;
}

RunResults results_of(const Arguments& arguments) {
  const bool run = is_run(arguments.model);
  if (run && !arguments.data.path.empty())
    throw Error{ErrorCode::usage, "DATA", "is not needed with a run", "give a run, or a model and data"};
  if (!run && arguments.data.path.empty())
    throw Error{ErrorCode::usage, "DATA", "is missing", "give a run (.sqlite), or a model and data"};
  return run ? read_results(arguments.model) : estimated(arguments);
}

}  // namespace probust::cli
