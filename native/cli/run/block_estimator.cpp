// SPDX-License-Identifier: MIT
#include "cli/run/block_estimator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/clock.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/run/load.h"
#include "probust/analysis/calibration.h"
#include "probust/analysis/curve.h"
#include "probust/estimators/schedule.h"
#include "probust/estimators/statistics/pooling.h"
#include "probust/run/run.h"

namespace probust::cli {

BlockEstimator::BlockEstimator(const Plan& plan, Problem& problem, std::string model)
    : plan_(plan),
      problem_(problem),
      executor_(*problem.executor),
      model_(std::move(model)),
      event_(parse_event(problem.arguments, problem.class_names, executor_.classes())) {
  if (plan_.total > 0) schedule();
}

// Distributes the total among all points before any is answered.
void BlockEstimator::schedule() {
  PointBlock all = read_points(problem_, first_position(problem_), point_count(problem_));
  const Tensor logits = executor_.logits(all.x).value();
  const Points points = points_of(problem_, std::move(all), logits);
  scheduled_points_ = points.index;
  auto estimates = estimate_within(executor_, points, logits, problem_.noises, event_, plan_.total);
  if (estimates) {
    scheduled_ = std::move(estimates).value();
    return;
  }
  const auto shares = [this](const EstimatorSpec& estimator) { return plan_.shares(estimator); };
  const EstimatorSpec& sharing = *std::find_if(plan_.estimators.begin(), plan_.estimators.end(), shares);
  scheduled_.assign(problem_.noises.size(), answers(sharing, estimates.error(), points.size()));
}

std::int64_t BlockEstimator::preferred_count() const {
  constexpr double kSeconds = 2;
  constexpr std::int64_t kFirst = 16, kLeast = 4;
  if (plan_.whole_blocks) return kBlock;
  if (pace_ == 0) return kFirst;
  return static_cast<std::int64_t>(std::clamp(kSeconds / pace_, double{kLeast}, double{kBlock}));
}

Results BlockEstimator::estimate(std::int64_t first, std::int64_t count, const std::vector<bool>& wanted) {
  const Stopwatch watch;
  PointBlock block = read_points(problem_, first, count);
  Results results;
  if (!block.index.empty()) {
    const Tensor logits = executor_.logits(block.x).value();
    Tensor x = std::move(block.x);
    const Points points = points_of(problem_, {std::move(x), block.index, block.labels}, logits);
    results = results_of(block, points, logits,
                         problem_.arguments.question.smooth ? smoothed(points, logits) : one_by_one(points, logits, wanted));
  }
  for (const BadPoint& point : problem_.data->bad()) {
    if (point.index >= first && point.index < first + count) results.skipped.push_back(skipped_point(point, model_));
  }
  pace_ = std::max(1e-9, watch.seconds()) / static_cast<double>(count);
  return results;
}

// An estimator's result. If it cannot answer for this model: rows with the reason, so that other estimators' rows are not lost.
std::vector<Estimate> BlockEstimator::answers(const EstimatorSpec& estimator, Result<std::vector<Estimate>> estimates,
                                              std::int64_t points) {
  if (estimates || !concerns_one_estimator(estimates.error())) return std::move(estimates).value();
  const Error& error = estimates.error();
  const bool first = refused_.emplace(plan_.text(estimator), error).second;
  if (first && !problem_.arguments.quiet && plan_.estimators.size() > 1) {  // if it is the only one, the run ends with this error
    const std::string whose = error.where.starts_with("estimator ") ? "" : "estimator " + plan_.text(estimator) + ": ";
    say("probust: {}{} (its rows have no p)\n", whose, error.message(as_flag));
  }
  return refused_estimates(error, points);
}

BlockEstimator::Columns BlockEstimator::one_by_one(const Points& points, const Tensor& logits, const std::vector<bool>& wanted) {
  Evaluation evaluation(executor_, points, logits, event_);
  Columns columns(wanted.size());
  std::size_t column = 0;
  for (const auto& [noise, e] : plan_.questions()) {
    std::vector<Estimate>& answer = columns[column++];
    const EstimatorSpec& estimator = plan_.estimators[e];
    if (!wanted[column - 1]) continue;
    if (plan_.shares(estimator)) {
      const auto position = std::lower_bound(scheduled_points_.begin(), scheduled_points_.end(), points.index.front());
      const auto begin = scheduled_[noise].begin() + (position - scheduled_points_.begin());
      answer.assign(begin, begin + points.size());
    } else {
      answer = answers(estimator, probust::estimate(evaluation, problem_.noises[noise], estimator), points.size());
    }
  }
  return columns;
}

// A sweep is a run of noise models that differ only in scale.
BlockEstimator::Columns BlockEstimator::smoothed(const Points& points, const Tensor& logits) {
  const std::vector<Noise>& noises = problem_.noises;
  const std::vector<EstimatorSpec>& estimators = plan_.estimators;
  Columns columns(noises.size() * estimators.size());
  for (std::size_t first = 0, last = 0; first < noises.size(); first = last) {
    last = end_of_sweep(noises, first);
    std::vector<double> sigmas;
    for (std::size_t n = first; n < last; ++n) sigmas.push_back(noises[n].scale);
    for (std::size_t e = 0; e < estimators.size(); ++e) {
      auto curve = estimate_curve(executor_, points, logits, noises[first].shape, sigmas, estimators[e], event_);
      for (std::size_t s = 0; s < sigmas.size(); ++s) {
        Result<std::vector<Estimate>> own = curve ? Result(std::move(curve.value()[s])) : curve.error();
        columns[(first + s) * estimators.size() + e] = answers(estimators[e], std::move(own), points.size());
      }
    }
  }
  return columns;
}

Results BlockEstimator::results_of(const PointBlock& block, const Points& points, const Tensor& logits, const Columns& columns) {
  Results results;
  const std::vector<Plan::Question> questions = plan_.questions();
  for (std::int64_t i = 0; i < points.size(); ++i) {
    const std::optional<std::int64_t> label = block.labels.empty() ? std::nullopt : std::optional(block.labels[i]);
    const std::span<const float> of_point = logits.row(i);
    results.points.push_back({model_, points.index[i], label, predicted_class(of_point), {of_point.begin(), of_point.end()}});
    for (std::size_t q = 0; q < questions.size(); ++q) {
      if (columns[q].empty()) continue;
      Row row = row_of(points, logits, i, plan_.noises[questions[q].noise], plan_.text(plan_.estimators[questions[q].estimator]),
                       columns[q][i]);
      row.label = label;
      row.model = model_;
      results.rows.push_back(std::move(row));
    }
  }
  return results;
}

void calibrate_rows(const Plan& plan, std::vector<Row>& rows, bool quiet) {
  const std::vector<Plan::Question> questions = plan.questions();
  const std::vector<Calibration> calibrations = calibrate_questions(rows, questions.size());
  for (std::size_t q = 0; q < questions.size(); ++q) {
    const auto& [noise, e] = questions[q];
    const Calibration& calibration = calibrations[q];
    const EstimatorSpec& estimator = plan.estimators[e];
    if (quiet || !models_copies(estimator)) continue;
    say("{} {}: ", plan.noises[noise].text(), plan.text(estimator));
    if (calibration.points == 0) {
      say("not calibrated, too few estimates whose copies were counted\n");
    } else {
      say("calibrated over {} points, mean p {:.4f} -> {:.4f}\n", calibration.points, calibration.before, calibration.after);
    }
  }
}

}  // namespace probust::cli
