// SPDX-License-Identifier: MIT
#include "cli/run/cost.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "cli/clock.h"
#include "cli/hints.h"
#include "cli/output/progress_line.h"
#include "cli/run/block_estimator.h"
#include "probust/estimators/statistics/pooling.h"

namespace probust::cli {
namespace {

constexpr const char* kColumns = "{:<24} {:<24} {:>10} {:>12} {:>12}\n";

// The cost of one question.
struct Cost {
  double seconds = 0;  // time per point
  std::int64_t forwards = 0, backwards = 0, points = 0;
};

// Measures one question on the first few points. If that takes less than a second, measures more points, because the first
// calls include one-time work.
Cost measure(BlockEstimator& estimator, const Problem& problem, const std::vector<bool>& wanted) {
  constexpr double kEnough = 1;
  Cost cost;
  const std::int64_t all = std::min(point_count(problem), kBlock);
  for (std::int64_t count = std::min<std::int64_t>(4, all);; count = std::min(4 * count, all)) {
    const Stopwatch watch;
    const Results results = estimator.estimate(first_position(problem), count, wanted);
    const double taken = watch.seconds();
    cost = {taken / static_cast<double>(count), 0, 0, std::ssize(results.points)};
    for (const Row& row : results.rows) {
      cost.forwards += row.estimate.forwards;
      cost.backwards += row.estimate.backwards;
    }
    if (taken > kEnough || count == all) return cost;
  }
}

double megabytes_used() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double per_point(std::int64_t passes, const Cost& cost) {
  return cost.points == 0 ? 0 : static_cast<double>(passes) / static_cast<double>(cost.points);
}

// Prints the cost of one model, and returns the seconds that its estimates would take.
double print_model(const Plan& plan, Problem& problem, std::int64_t points, const std::string& name) {
  BlockEstimator estimator(plan, problem, name);
  const std::vector<Plan::Question> questions = plan.questions();
  if (!name.empty()) fmt::print("{}\n", name);
  fmt::print(kColumns, "noise", "estimator", "forwards", "backwards", "time");
  double seconds = 0;
  for (std::size_t q = 0; q < questions.size(); ++q) {
    std::vector<bool> only(questions.size());
    only[q] = true;
    const Cost cost = measure(estimator, problem, only);
    const double own = cost.seconds * static_cast<double>(points);
    seconds += own;
    fmt::print(kColumns, plan.noises[questions[q].noise].text(), plan.text(plan.estimators[questions[q].estimator]),
               fmt::format("{:.0f}", per_point(cost.forwards, cost)), fmt::format("{:.0f}", per_point(cost.backwards, cost)),
               duration_text(own));
  }
  return seconds;
}

}  // namespace

int print_cost(const Arguments& arguments, const Plan& plan) {
  const std::vector<std::string> models = models_of(arguments), names = model_names(arguments);
  double seconds = 0;
  std::int64_t points = 0;
  for (std::size_t m = 0; m < models.size(); ++m) {
    Arguments of_model = arguments;
    of_model.model = models[m];
    of_model.quiet = true;
    of_model.question.total_budget.reset();
    Problem problem = load_problem(of_model, plan.noises);
    if (m == 0 && !arguments.quiet) {
      problem.arguments.quiet = false;
      report_empty_shards(problem, plan, parse_shard(arguments));
      problem.arguments.quiet = true;
    }
    const Span span = span_of(problem, plan, parse_shard(arguments));
    points = span.last - span.first;
    seconds += print_model(plan, problem, points, names[m]);
  }
  fmt::print(
      "\n{} points, {} rows; about {} with {} thread{}; {:.0f} MB of memory so far. Forward and backward passes are per point.\n",
      points, points * std::ssize(plan.questions()) * std::ssize(models), duration_text(seconds), thread_count(arguments.device),
      thread_count(arguments.device) == 1 ? "" : "s", megabytes_used());
  return 0;
}

}  // namespace probust::cli
