// SPDX-License-Identifier: MIT
// probust estimate: estimates p for all points of a file, block by block, under every noise model and with every estimator, and
// writes the rows.
#include "cli/commands/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "cli/clock.h"
#include "cli/command_line.h"
#include "cli/devices.h"
#include "cli/hints.h"
#include "cli/interrupt.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output/progress_line.h"
#include "cli/run/block_estimator.h"
#include "cli/run/cost.h"
#include "cli/run/first_check.h"
#include "cli/run/ledger.h"
#include "cli/run/load.h"
#include "cli/run/problem.h"
#include "cli/run/ranks.h"
#include "probust/base/stop.h"
#include "probust/base/text.h"
#include "probust/estimators/statistics/pooling.h"

namespace probust::cli {
namespace {

struct EstimateArguments : Arguments {
  bool plan = false;  ///< whether to print only the cost
};

// Estimates blocks until none remain. After each block, calls `after` with its number of points.
void work(BlockEstimator& estimator, Assignments& assignments, StopToken& stop, const std::function<void(std::int64_t)>& after) {
  while (const auto next = assignments.next(estimator.preferred_count())) {
    stop_if_asked(&stop);
    assignments.deliver(*next, estimator.estimate(next->block.first, next->block.count, next->wanted));
    after(next->block.count);
  }
}

// Computes the estimates of one model.
class ModelRun {
 public:
  // `number` counts the models from 0. `ranks` is null unless this is rank 0 of several ranks.
  ModelRun(const Plan& plan, Problem& problem, const std::string& model, int number, Destination& destination, Ranks* ranks)
      : plan_(plan),
        problem_(problem),
        arguments_(problem.arguments),
        number_(number),
        ranks_(ranks),
        model_(model),
        of_(model.empty() ? "" : model + ": "),
        destination_(destination),
        span_(span_of(problem, plan, parse_shard(arguments_))),
        estimator_(plan, problem, model),
        ledger_(plan, model, span_, destination,
                {arguments_.question.calibrate, arguments_.question.calibrate || arguments_.question.smooth}) {
    destination.inform({{"points", std::to_string(span_.last - span_.first)}});
  }

  std::vector<SkippedPoint> bad() const { return ledger_.bad(); }

  int go() {
    report_empty_shards(problem_, plan_, parse_shard(arguments_));
    const FirstCheck check = first_check(problem_, plan_, model_, destination_);
    ledger_.set_hint(check.hint);
    warned_ = !check.warnings.empty() || arguments_.no_check || !arguments_.question.tolerance.empty();
    estimate_all();
    if (!ledger_.complete())
      throw Error{ErrorCode::internal, "the run", "is missing some points", "this is a bug in probust; please report it"};
    if (arguments_.question.calibrate) {
      calibrate_rows(plan_, ledger_.held().rows, arguments_.quiet);
      ledger_.write_held();
    }
    summarize();
    const Ledger::Counts counts = ledger_.counts();
    const bool done = counts.answered > 0 || ledger_.skipped() > 0 || span_.first == span_.last;  // an empty shard is done, too
    if (!done && estimator_.refusal() != nullptr) throw Error(*estimator_.refusal());
    return done ? 0 : static_cast<int>(ErrorCode::numerical);
  }

  std::int64_t rows_written() const { return ledger_.counts().written; }

 private:
  void estimate_all() {
    Executor& executor = problem_.model.executor();
    const std::int64_t points = span_.last - span_.first;
    const ProgressLine line("estimating", executor.progress.passes, plan_.passes(points, executor.classes()), arguments_.quiet,
                            {&ledger_.done(), points});
    std::int64_t elsewhere = 0, here = 0;  // points estimated by other ranks and by this one
    const auto after = [&](std::int64_t count) {
      here += count;
      const std::int64_t others = ledger_.done() - here;  // by earlier attempts or other ranks
      executor.progress.passes += plan_.passes(others - std::exchange(elsewhere, others), executor.classes());
      report_decision();
      warn_if_one_class();
      suggest_gpu();
    };
    StopToken& stop = executor.progress.stop;
    std::optional<RankServer> server;
    if (ranks_ != nullptr) server.emplace(*ranks_, ledger_, number_, stop);
    work(estimator_, ledger_, stop, after);
    if (!server) return;
    server->finish();
    work(estimator_, ledger_, stop, after);  // blocks that other ranks returned
  }

  // Prints the decision rule once, after the first results, so that a run that fails earlier prints only its error.
  void report_decision() {
    if (arguments_.quiet || decision_said_ || ledger_.counts().answered == 0) return;
    decision_said_ = true;
    say("{}decision rule: {}\n", of_, problem_.model.imported().decision);
  }

  // Warns if the model predicts the same class for all points so far, but only if the points have no labels; with labels, the
  // check does this.
  void warn_if_one_class() {
    if (warned_ || !problem_.labels.empty()) return;
    const Ledger::Counts counts = ledger_.counts();
    if (counts.points < kEnoughForOneClass) return;
    warned_ = true;
    if (counts.classes != 1) return;
    const Finding finding = one_class_finding(counts.points, counts.first_class, problem_.model.imported().decision);
    ledger_.set_hint(warn_of(finding, model_, destination_).hint);
  }

  // Suggests a GPU, once, if the run has taken a while. GPUs are not used by default, because results should not depend on the
  // machine, not even by rounding errors.
  void suggest_gpu() {
    constexpr double kLong = 30;  // seconds
    if (gpu_suggested_ || arguments_.quiet || watch_.seconds() < kLong) return;
    gpu_suggested_ = true;
    if (leaves_device_idle(arguments_)) say("{}this machine has a GPU; --device auto may be faster\n", of_);
  }

  void summarize() const {
    if (arguments_.quiet) return;
    if (ledger_.skipped() > 0) say("{}{} points were already done\n", of_, ledger_.skipped());
    const Ledger::Counts counts = ledger_.counts();
    report_accuracy(of_, counts.correct, counts.labelled);
    const double seconds = watch_.seconds();
    const std::int64_t points = ledger_.done() - ledger_.skipped();
    constexpr double kWorthSaying = 5;  // seconds
    if (seconds >= kWorthSaying)
      say("{}{} points in {}, {:.3g} points/s\n", of_, points, duration_text(seconds), static_cast<double>(points) / seconds);
  }

  const Plan& plan_;
  Problem& problem_;
  const Arguments& arguments_;
  int number_;
  Ranks* ranks_;
  std::string model_, of_;
  Destination& destination_;
  Span span_;
  BlockEstimator estimator_;
  Ledger ledger_;
  Stopwatch watch_;
  bool decision_said_ = false, gpu_suggested_ = false, warned_ = false;
};

// Information that is stored in a run, for the report and other commands.
store::Configuration information_of(const Arguments& arguments, const Problem& problem) {
  return {{"command", arguments.command},
          {"model_path", join(models_of(arguments))},
          {"data_path", arguments.data.path},
          {"data_options", data_options_text(arguments.data)},
          {"decision", problem.model.imported().decision},
          {"class_names", fmt::format("{}", fmt::join(problem.class_names, "\n"))},
          {"labels", spelled(problem.data->label_mapping(), as_flag)},
          {"device", std::string(problem.model.executor().name())},
          {"threads", std::to_string(thread_count(arguments.device))},
          {"last_started", utc_text()}};
}

std::unique_ptr<Destination> open_destination(const Arguments& arguments, const Plan& plan, const Problem& problem) {
  if (names_run(arguments)) return run_destination(arguments, configuration_of(arguments, plan));
  const TextForm form{format_of(arguments), problem.class_names, arguments.question.per_class ? problem.model.classes() : 0,
                      !arguments.more_models.empty()};
  return arguments.output.empty() ? text_destination(arguments, form)
                                  : resumable_text(arguments, form, configuration_of(arguments, plan));
}

Arguments with_model(Arguments arguments, const std::string& model) {
  arguments.model = model;
  return arguments;
}

// The work of all ranks except rank 0: estimates blocks and sends the results to rank 0.
int work_for_others(const Arguments& arguments, const Plan& plan, cluster::Cluster& cluster) {
  const std::vector<std::string> models = models_of(arguments), names = model_names(arguments);
  for (std::size_t m = 0; m < models.size(); ++m) {
    Arguments quiet = with_model(arguments, models[m]);
    quiet.quiet = true;
    RemoteAssignments assignments(cluster, static_cast<int>(m));
    Problem problem = load_problem(quiet, plan.noises);
    BlockEstimator estimator(plan, problem, names[m]);
    StopToken& stop = problem.model.progress().stop;
    const auto go = [&] {
      work(estimator, assignments, stop, [](std::int64_t) {});
      return 0;
    };
    const int status = run_interruptibly(stop, go, [&] { return fmt::format("rank {} ends", cluster.rank()); });
    if (status != 0 || assignments.dismissed()) return status;
  }
  return 0;
}

int estimate_models(const Arguments& arguments, const Plan& plan, const OpenDestination& open, Ranks* ranks) {
  const std::vector<std::string> models = models_of(arguments), names = model_names(arguments);
  Destination* destination = nullptr;
  int status = static_cast<int>(ErrorCode::numerical);
  for (std::size_t m = 0; m < models.size(); ++m) {
    Problem problem = load_problem(with_model(arguments, models[m]), plan.noises);
    if (m == 0) {
      destination = open(problem);
      destination->inform(information_of(arguments, problem));
      report_notes(problem.notes, arguments.quiet);
    }
    ModelRun run(plan, problem, names[m], static_cast<int>(m), *destination, ranks);
    const int of_run = run_interruptibly(
        problem.model.progress().stop, [&] { return run.go(); },
        [&] { return std::to_string(run.rows_written()) + " rows were written"; });
    report_bad(run.bad());
    if (of_run == kInterrupted) return of_run;
    status = std::min(status, of_run);
  }
  destination->finish();
  return status;
}

}  // namespace

int estimate_into(const Arguments& arguments, const Plan& plan, const OpenDestination& open) {
  const std::unique_ptr<cluster::Cluster> cluster = cluster::join();
  if (cluster && arguments.question.total_budget)
    throw Error{ErrorCode::usage, "--total-budget", "needs all points in one process", "start it without mpirun"};
  if (cluster && cluster->rank() > 0) return work_for_others(arguments, plan, *cluster);
  if (!cluster) return estimate_models(arguments, plan, open, nullptr);
  Ranks ranks{*cluster, static_cast<int>(models_of(arguments).size())};
  try {
    const int status = estimate_models(arguments, plan, open, &ranks);
    dismiss(ranks);
    return status;
  } catch (...) {
    dismiss(ranks);
    throw;
  }
}

int run_estimate(const Arguments& arguments) {
  const Plan plan = parse_plan(arguments);
  (void)parse_shard(arguments);
  std::unique_ptr<Destination> destination;
  const int status = estimate_into(arguments, plan, [&](const Problem& problem) {
    destination = open_destination(arguments, plan, problem);
    return destination.get();
  });
  if (status == static_cast<int>(ErrorCode::numerical)) {
    throw Error{ErrorCode::numerical, arguments.data.path, "has no point for which p could be computed",
                "check the points for NaN and infinite values"};
  }
  return status;
}

void describe_estimate(CommandLine& line) {
  auto [command, own] =
      line.add<EstimateArguments>("estimate", "estimate p_robust of every point", [](const EstimateArguments& arguments) {
        return arguments.plan ? print_cost(arguments, parse_plan(arguments)) : run_estimate(arguments);
      });
  add_model(command, own);
  add_decision_options(command, own);
  add_data(command, own);
  add_device_options(command, own);
  add_question_options(command, own);
  command.add_option("--model", own.more_models, "also estimate with this model, in separate rows").one_argument_each();
  command.add_option("-o,--output", own.output,
                     "write rows to this .csv, .jsonl or .sqlite file, resuming it if it is incomplete");
  command.add_flag("--force-new", own.force_new, "replace the file that -o names");
  command.add_flag("--extend", own.extend, "add noise models, estimators or points to the run that -o names");
  command.add_option("--shard", own.shard, "process one shard of the points, such as 1/4; probust merge joins the shards");
  command.add_flag("--plan", own.plan, "print only the cost in passes, time and memory");
  command.add_option("--format", own.format, "table, csv or jsonl (default: table on a terminal, jsonl otherwise)");
  command.add_flag("--quiet", own.quiet, "do not print accuracy and progress on stderr");
}

}  // namespace probust::cli
