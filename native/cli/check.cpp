// SPDX-License-Identifier: MIT
// probust check: whether data, preprocessing, layout and labels suit the model.
#include "probust/check/check.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/first_check.h"
#include "cli/interrupt.h"
#include "cli/load.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/problem.h"
#include "cli/progress_line.h"
#include "datasets/noise_files.h"

namespace probust::cli {
namespace {

std::vector<Noise> noises_to_compare(const Arguments& arguments) {
  if (arguments.sigma.empty() && arguments.noise.empty()) return {};
  std::vector<std::string> paths;
  return parse_noises(arguments, datasets::noise_files(paths));
}

void print_report(const Problem& problem, const CheckReport& report, bool json) {
  if (json) {
    fmt::print("{}\n", check_json(report, as_flag));
    return;
  }
  for (const std::string& note : problem.model_notes) fmt::print("model       {}\n", note);
  fmt::print("{}", check_text(report, as_flag));
}

}  // namespace

int run_check(const Arguments& arguments) {
  constexpr std::int64_t kPoints = 500, kUsualAlternatives = 12;
  const std::vector<Noise> noises = noises_to_compare(arguments);
  Arguments all = arguments;
  all.data.limit = -1;
  all.data.skip_bad = true;
  Problem problem = load_problem(all, noises);
  StopToken& stop = problem.executor->progress.stop;
  const auto work = [&] {
    CheckInput input = check_input(problem, noises, arguments.data.limit < 0 ? kPoints : arguments.data.limit);
    report_bad(skipped_points(problem.data->bad()));
    if (input.x.shape.empty()) throw problem.data->bad().front().error;  // no point can be read
    input.thorough = true;
    CheckReport report;
    {
      const ProgressLine line("checking", problem.executor->progress.passes, kUsualAlternatives * input.x.shape[0],
                              arguments.quiet);
      report = check(input);
    }
    for (const std::string& note : problem.data->notes()) report.findings.push_back({Severity::note, "data", note, {}});
    print_report(problem, report, arguments.json);
    return 0;
  };
  return run_interruptibly(stop, work, [] { return "the report shows what was known by then"; });
}

}  // namespace probust::cli
