// SPDX-License-Identifier: MIT
// probust estimate: from files to rows. Predictions for all points come first, because a wrong mean or layout shows at once in
// the clean accuracy. Then blocks of points go through every noise model and estimator, and their rows are written.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <map>

#include "cli/commands.h"
#include "cli/destination.h"
#include "cli/events.h"
#include "cli/interrupt.h"
#include "cli/load.h"
#include "cli/messages.h"
#include "cli/noise_files.h"
#include "cli/options.h"
#include "cli/progress_line.h"
#include "probust/analysis/calibration.h"
#include "probust/analysis/curve.h"
#include "probust/base/text.h"
#include "probust/estimators/estimate_run.h"
#include "probust/estimators/estimator.h"
#include "probust/estimators/pooling.h"
#include "probust/estimators/schedule.h"

namespace probust::cli {
namespace {

struct Plan {
  std::vector<Noise> noises;
  std::vector<EstimatorSpec> estimators;
  std::int64_t total = 0;  // forwards that `auto` shares among all points and noise models; 0: a budget per point

  bool shares(const EstimatorSpec& estimator) const { return total > 0 && estimator.definition->name == "auto"; }

  std::int64_t rows_a_point() const { return std::ssize(noises) * std::ssize(estimators); }

  std::string text(const EstimatorSpec& estimator) const { return shares(estimator) ? "auto" : estimator.text(); }

  std::int64_t passes(std::int64_t points, std::int64_t classes) const {
    std::int64_t per_point = 0;
    for (const EstimatorSpec& estimator : estimators) per_point += shares(estimator) ? 0 : estimator.passes(classes);
    return per_point * points * static_cast<std::int64_t>(noises.size()) + total;
  }
};

// Whether its answer is modelled from copies, which calibration and smoothing need.
bool models_copies(const EstimatorSpec& estimator) {
  return estimator.definition->smoothing != EstimatorDefinition::Smoothing::none;
}

// The items of all lists; "auto" becomes "auto:N" if a budget is given.
std::vector<std::string> estimator_texts(const Arguments& arguments) {
  std::vector<std::string> texts;
  for (const std::string& list : arguments.estimators) {
    for (std::string& item : split(list, ',')) texts.push_back(std::move(item));
  }
  if (texts.empty()) texts.emplace_back("auto");
  for (const auto& [option, value] :
       {std::pair{"--budget", arguments.budget}, std::pair{"--total-budget", arguments.total_budget}}) {
    if (!value) continue;
    if (!std::isfinite(*value)) throw Error{ErrorCode::usage, option, "is not a number", "give forwards, as 100"};
    if (std::find(texts.begin(), texts.end(), "auto") == texts.end())
      throw Error{ErrorCode::usage, option, "needs auto among the estimators", "leave it out, or add auto"};
  }
  if (!arguments.budget) return texts;
  std::replace(texts.begin(), texts.end(), std::string("auto"), "auto:" + shortest_text(std::floor(*arguments.budget)));
  return texts;
}

// Refuses options that conflict with others or need others.
void check_options(const Arguments& arguments, const Plan& plan) {
  const auto refuse = [](const char* option, const char* what, const char* hint) {
    throw Error{ErrorCode::usage, option, what, hint};
  };
  if (arguments.total_budget && arguments.budget) refuse("--total-budget", "cannot be combined with --budget", "leave one out");
  const auto autos = std::count_if(plan.estimators.begin(), plan.estimators.end(),
                                   [](const EstimatorSpec& estimator) { return estimator.definition->name == "auto"; });
  if (arguments.total_budget && autos > 1) refuse("--total-budget", "needs exactly one auto", "leave out auto:N");
  if (arguments.total_budget && arguments.smooth) refuse("--total-budget", "cannot be combined with --smooth", "leave one out");
  if (arguments.calibrate && std::none_of(plan.estimators.begin(), plan.estimators.end(), models_copies))
    refuse("--calibrate", "needs an estimator that models copies", "add probit:N or regression:N");
}

Plan parse_plan(const Arguments& arguments) {
  Plan plan{parse_noises(arguments, noise_files()), {}, static_cast<std::int64_t>(arguments.total_budget.value_or(0))};
  for (const std::string& text : estimator_texts(arguments)) plan.estimators.push_back(parse_estimator(text));
  check_options(arguments, plan);
  return plan;
}

// Everything that the rows depend on, apart from the device.
store::Configuration configuration_of(const Arguments& arguments, const Plan& plan) {
  const DataArguments& data = arguments.data;
  const auto checksum = [](const std::string& path) { return path.empty() ? "" : store::file_checksum(path); };
  const auto number = [](const std::optional<double>& value) { return value ? shortest_text(*value) : ""; };
  const auto list = [](const auto& values) { return fmt::format("{}", fmt::join(values, ",")); };
  std::vector<std::string> noises, estimators;
  for (const Noise& noise : plan.noises) noises.push_back(noise.text());
  for (const EstimatorSpec& estimator : plan.estimators) estimators.push_back(plan.text(estimator));
  return {{"version", PROBUST_VERSION},
          {"model", checksum(arguments.model)},
          {"output_name", arguments.output_name},
          {"input_shape", list(arguments.input_shape)},
          {"data", checksum(data.path)},
          {"labels", checksum(data.labels)},
          {"label_column", data.label_column},
          {"scale", number(data.scale)},
          {"mean", list(data.mean)},
          {"std", list(data.std)},
          {"layout", data.layout},
          {"cifar100", data.cifar100 ? "yes" : "no"},
          {"offset", std::to_string(data.offset)},
          {"limit", std::to_string(data.limit)},
          {"noise", join(noises)},
          {"estimator", join(estimators)},
          {"total_budget", number(arguments.total_budget)},
          {"target", arguments.target},
          {"groups", arguments.groups},
          {"per_class", arguments.per_class ? "yes" : "no"},
          {"top", std::to_string(arguments.top)},
          {"tolerance", number(arguments.tolerance)},
          {"smooth", arguments.smooth ? "yes" : "no"},
          {"calibrate", arguments.calibrate ? "yes" : "no"},
          {"seed", std::to_string(arguments.seed)},
          {"precision", arguments.device.precision}};
}

// What to look at if almost no answer is right.
void hint_at_accuracy(const Dataset& data, std::int64_t correct, std::int64_t classes) {
  constexpr std::int64_t kEnough = 20;
  const std::int64_t n = std::ssize(data.labels);
  const auto [low, high] = std::minmax_element(data.labels.begin(), data.labels.end());
  if (*low < 0 || *high >= classes) {
    say("probust: labels run from {} to {}, but the model has classes 0 to {}; give the right ones with --labels\n", *low, *high,
        classes - 1);
  } else if (n >= kEnough && static_cast<double>(correct) < 1.5 * static_cast<double>(n) / static_cast<double>(classes)) {
    say("probust: that is close to chance; check --scale, --mean, --std, --layout and the labels\n");
  }
}

void report_accuracy(const Dataset& data, const Tensor& logits, bool quiet) {
  if (quiet || data.labels.empty()) return;
  std::int64_t correct = 0;
  const std::int64_t n = logits.shape[0];
  for (std::int64_t i = 0; i < n; ++i) correct += argmax(logits.row(i)) == data.labels[i] ? 1 : 0;
  say("clean accuracy {:.2f}% ({} of {})\n", 100.0 * static_cast<double>(correct) / static_cast<double>(n), correct, n);
  hint_at_accuracy(data, correct, logits.shape[1]);
}

// Noise that is larger than the data is mostly a mistake about units.
void report_large_noise(const Tensor& x, const std::vector<Noise>& noises, bool quiet) {
  if (quiet) return;
  float low = INFINITY, high = -INFINITY;
  for (const float value : x.data) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double largest = 0;
  for (const Noise& noise : noises) largest = std::max(largest, noise.sigma().value_or(0));
  if (!(low < high) || largest <= static_cast<double>(high) - static_cast<double>(low)) return;
  say("probust: noise of {} is larger than the range of the data, {:.4g} to {:.4g}; sigma is in the data's units after --scale\n",
      shortest_text(largest), low, high);
}

class Run {
 public:
  Run(Plan plan, Problem problem)
      : plan_(std::move(plan)),
        problem_(std::move(problem)),
        arguments_(problem_.arguments),
        data_(problem_.data),
        executor_(*problem_.executor),
        destination_(names_run(arguments_)
                         ? run_destination(arguments_, configuration_of(arguments_, plan_), plan_.rows_a_point())
                         : text_destination(arguments_, data_.class_names, arguments_.per_class ? executor_.classes() : 0)) {}

  int go() {
    if (!arguments_.tolerance) report_large_noise(data_.x, plan_.noises, arguments_.quiet);
    logits_ = executor_.logits(data_.x).value();
    std::vector<std::int64_t> target = targets(arguments_, data_, logits_);
    points_ = points_of(std::move(data_.x), std::move(target), arguments_.data.offset, arguments_.seed);
    event_ = parse_event(arguments_, data_.class_names, executor_.classes());
    report_accuracy(data_, logits_, arguments_.quiet);
    const std::int64_t n = logits_.shape[0];
    const ProgressLine line("estimating", executor_.progress.passes, plan_.passes(n, executor_.classes()), arguments_.quiet);
    if (plan_.total > 0) schedule();
    for (std::int64_t first = 0, count = 0; first < n; first += count) {
      stop_if_asked(&executor_.progress.stop);
      count = std::min(n - first, next_count(first));
      if (destination_->has(arguments_.data.offset + first, count)) {
        skip(count);
      } else {
        timed_block(first, count);
      }
    }
    if (skipped_ > 0 && !arguments_.quiet) say("{} points were done before\n", skipped_);
    if (arguments_.calibrate) calibrate_all();
    if (computed_ == 0 && !refused_.empty()) throw refused_.begin()->second;
    return computed_ > 0 ? 0 : static_cast<int>(ErrorCode::numerical);
  }

  std::int64_t rows_written() const { return written_; }
  bool any_computed() const { return computed_ > 0; }

 private:
  // [noise, estimator][point]
  using Columns = std::vector<std::vector<Estimate>>;

  // Distributes the total among all points before any is answered.
  void schedule() {
    auto estimates = estimate_within(executor_, points_, logits_, problem_.noises, event_, plan_.total);
    if (estimates) {
      scheduled_ = std::move(estimates).value();
      return;
    }
    const auto shares = [this](const EstimatorSpec& estimator) { return plan_.shares(estimator); };
    const EstimatorSpec& sharing = *std::find_if(plan_.estimators.begin(), plan_.estimators.end(), shares);
    scheduled_.assign(problem_.noises.size(), answered(sharing, estimates.error(), points_.size()));
  }

  // Whole blocks if an estimator borrows from other points; else as many points as take about two seconds, so that little is lost
  // if the run is cut.
  std::int64_t next_count(std::int64_t first) const {
    constexpr double kSeconds = 2;
    constexpr std::int64_t kFirst = 16, kLeast = 4;
    if (arguments_.smooth || block_size(plan_.estimators) == kBlock)
      return points_in_block(arguments_.data.offset + first, kBlock);
    if (pace_ == 0) return kFirst;
    return static_cast<std::int64_t>(std::clamp(kSeconds / pace_, double{kLeast}, double{kBlock}));
  }

  void timed_block(std::int64_t first, std::int64_t count) {
    const auto begin = std::chrono::steady_clock::now();
    block(first, count);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    pace_ = std::max(1e-9, taken.count()) / static_cast<double>(count);
  }

  // A block that an earlier attempt wrote.
  void skip(std::int64_t count) {
    skipped_ += count;
    computed_ += count * plan_.rows_a_point();
    executor_.progress.passes += plan_.passes(count, executor_.classes());
  }

  // Estimates one block and writes its rows, or with --calibrate keeps it until all are done.
  void block(std::int64_t first, std::int64_t count) {
    const Points points = slice(points_, first, count);
    const Tensor logits = rows(logits_, first, count);
    Columns columns = arguments_.smooth ? smoothed(points, logits) : one_by_one(first, points, logits);
    if (arguments_.calibrate) {
      waiting_.resize(columns.size());
      for (std::size_t c = 0; c < columns.size(); ++c)
        std::move(columns[c].begin(), columns[c].end(), std::back_inserter(waiting_[c]));
    } else {
      write_points(first, columns);
    }
  }

  // Applies the calibration from the copies of all points, and writes all rows.
  void calibrate_all() {
    for (std::size_t c = 0; c < waiting_.size(); ++c) {
      const EstimatorSpec& estimator = plan_.estimators[c % plan_.estimators.size()];
      const Calibration calibration = calibrate(waiting_[c]);
      if (arguments_.quiet || !models_copies(estimator)) continue;
      say("{} {}: ", plan_.noises[c / plan_.estimators.size()].text(), plan_.text(estimator));
      if (calibration.points == 0) {
        say("not calibrated, too few estimates whose copies were counted\n");
      } else {
        say("calibrated over {} points, mean p {:.4f} -> {:.4f}\n", calibration.points, calibration.before, calibration.after);
      }
    }
    if (!waiting_.empty()) write_points(0, waiting_);
  }

  // An estimator's result. If it cannot answer for this model: rows with the reason, so that other estimators' rows are not lost.
  std::vector<Estimate> answered(const EstimatorSpec& estimator, Result<std::vector<Estimate>> estimates, std::int64_t points) {
    if (estimates || !concerns_one_estimator(estimates.error())) return std::move(estimates).value();
    const Error& error = estimates.error();
    const bool told = refused_.count(plan_.text(estimator)) != 0;
    if (!told) refused_.emplace(plan_.text(estimator), error);
    if (!told && !arguments_.quiet && plan_.estimators.size() > 1) {  // if it is the only one, the run ends with this error
      const std::string whose = error.where.starts_with("estimator ") ? "" : "estimator " + plan_.text(estimator) + ": ";
      say("probust: {}{} (its rows have no p)\n", whose, error.message(as_flag));
    }
    return refused_estimates(error, points);
  }

  Columns one_by_one(std::int64_t first, const Points& points, const Tensor& logits) {
    Evaluation evaluation(executor_, points, logits, event_);
    Columns columns;
    for (std::size_t k = 0; k < problem_.noises.size(); ++k) {
      for (const EstimatorSpec& estimator : plan_.estimators) {
        if (plan_.shares(estimator)) {
          const auto begin = scheduled_[k].begin() + first;
          columns.emplace_back(begin, begin + points.size());
          continue;
        }
        columns.push_back(answered(estimator, estimate(evaluation, problem_.noises[k], estimator), points.size()));
      }
    }
    return columns;
  }

  // A sweep is a run of noise models that differ only in scale.
  Columns smoothed(const Points& points, const Tensor& logits) {
    const std::vector<Noise>& noises = problem_.noises;
    Columns columns(noises.size() * plan_.estimators.size());
    for (std::size_t first = 0, last = 0; first < noises.size(); first = last) {
      std::vector<double> sigmas;
      for (; last < noises.size() && noises[last].shape->name() == noises[first].shape->name(); ++last) {
        sigmas.push_back(noises[last].scale);
      }
      for (std::size_t e = 0; e < plan_.estimators.size(); ++e) {
        auto curve = estimate_curve(executor_, points, logits, noises[first].shape, sigmas, plan_.estimators[e], event_);
        for (std::size_t s = 0; s < sigmas.size(); ++s) {
          Result<std::vector<Estimate>> own = curve ? Result(std::move(curve.value()[s])) : curve.error();
          columns[(first + s) * plan_.estimators.size() + e] = answered(plan_.estimators[e], std::move(own), points.size());
        }
      }
    }
    return columns;
  }

  void write_points(std::int64_t first, const Columns& columns) {
    const auto count = static_cast<std::int64_t>(columns[0].size());
    for (std::int64_t i = 0; i < count; ++i) write_point(first + i, i, columns);
    destination_->flush();
  }

  void write_point(std::int64_t i, std::int64_t in_block, const Columns& columns) {
    std::size_t column = 0;
    for (const Noise& noise : plan_.noises) {
      for (const EstimatorSpec& estimator : plan_.estimators) {
        Row row = row_of(points_, logits_, i, noise, plan_.text(estimator), columns[column++][in_block]);
        if (!data_.labels.empty()) row.label = data_.labels[i];
        const bool answered = !std::isnan(row.estimate.p) || row.estimate.status == Status::degenerate;
        computed_ += answered ? 1 : 0;
        destination_->write(row);
        ++written_;
      }
    }
  }

  Plan plan_;
  Problem problem_;
  const Arguments& arguments_;
  Dataset& data_;  // its x is moved into the points
  Executor& executor_;
  std::unique_ptr<Destination> destination_;
  Tensor logits_;
  Points points_;
  Event event_;
  Columns scheduled_;                     // [noise][point], with a total budget
  Columns waiting_;                       // of all points, to be calibrated
  std::map<std::string, Error> refused_;  // by estimator: why it cannot answer
  std::int64_t computed_ = 0, written_ = 0, skipped_ = 0;
  double pace_ = 0;  // seconds per point in the last block
};

}  // namespace

int run_estimate(const Arguments& arguments) {
  Plan plan = parse_plan(arguments);
  Problem problem = load_problem(arguments, plan.noises);
  StopToken& stop = problem.executor->progress.stop;
  Run run(std::move(plan), std::move(problem));
  const int status = run_interruptibly(
      stop, [&] { return run.go(); }, [&] { return std::to_string(run.rows_written()) + " rows were written"; });
  if (status == static_cast<int>(ErrorCode::numerical)) {
    throw Error{ErrorCode::numerical, arguments.data.path, "no row could be computed",
                "check the points for NaN and infinite values"};
  }
  return status;
}

}  // namespace probust::cli
