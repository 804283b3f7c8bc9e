// SPDX-License-Identifier: MIT
// probust check: checks whether data, preprocessing, layout and labels match the model.
#include "probust/check/check.h"

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output/progress_line.h"
#include "cli/run/first_check.h"
#include "cli/run/load.h"
#include "cli/run/problem.h"
#include "datasets/noise_files.h"

namespace probust::cli {
namespace {

std::vector<Noise> noises_to_compare(const Arguments& arguments) {
  if (arguments.question.sigma.empty() && arguments.question.noise.empty()) return {};
  std::vector<std::string> paths;
  return noises_of_data(arguments, datasets::noise_files(paths));
}

void print_report(const Problem& problem, const CheckReport& report, bool json) {
  if (json) {
    fmt::print("{}\n", check_json(report, as_flag));
    return;
  }
  for (const std::string& note : problem.model.imported().notes) fmt::print("model       {}\n", note);
  fmt::print("{}", check_text(report, as_flag));
}

int run_check(const Arguments& arguments) {
  constexpr std::int64_t kPoints = 500, kUsualAlternatives = 12;
  const std::vector<Noise> noises = noises_to_compare(arguments);
  Arguments all = arguments;
  all.data.limit = -1;
  all.data.skip_bad = true;
  Problem problem = load_problem(all, noises);
  StopToken& stop = problem.model.progress().stop;
  const auto work = [&] {
    CheckInput input = check_input(problem, noises, arguments.data.limit < 0 ? kPoints : arguments.data.limit);
    report_bad(skipped_points(problem.data->bad()));
    if (input.x.shape.empty()) throw problem.data->bad().front().error;  // no point can be read
    input.thorough = true;
    CheckReport report;
    {
      const ProgressLine line("checking", problem.model.progress().passes, kUsualAlternatives * input.x.shape[0],
                              arguments.quiet);
      report = check(input);
    }
    for (const std::string& note : problem.data->notes()) report.findings.push_back({Severity::note, "data", note, {}});
    print_report(problem, report, arguments.json);
    return 0;
  };
  return run_interruptibly(stop, work, [] { return "the report covers what was checked so far"; });
}

}  // namespace

void describe_check(CommandLine& line) {
  auto [command, own] = line.add<Arguments>(
      "check", "check that data, preprocessing, layout and labels suit the model, and suggest options", run_check);
  add_model(command, own);
  add_data(command, own);
  add_device_options(command, own);
  command.option("--limit").describe("use at most this many points, spread evenly over the data (default: 500)");
  command.add_option("--sigma", own.question.sigma, "noise scales, to compare with the data's range").one_argument_each();
  command.add_option("--noise", own.question.noise, "noise models, as for estimate").one_argument_each();
  command.add_flag("--json", own.json, "print one JSON object");
  command.add_flag("--quiet", own.quiet, "do not print progress on stderr");
  command.set_footer(
      "Every alternative costs one forward pass per point. `better` means beyond chance: McNemar's exact test, corrected for the "
      "number\n"
      "of alternatives. The exit status is 0 with warnings, too; gate fails with them.");
}

}  // namespace probust::cli
