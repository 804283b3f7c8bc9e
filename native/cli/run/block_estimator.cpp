// SPDX-License-Identifier: MIT
#include "cli/run/block_estimator.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/clock.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/run/load.h"
#include "probust/analysis/calibration.h"
#include "probust/analysis/curve.h"
#include "probust/estimators/statistics/pooling.h"
#include "probust/run/run.h"

namespace probust::cli {

BlockEstimator::BlockEstimator(const Plan& plan, Problem& problem, std::string model)
    : plan_(plan), problem_(problem), model_(std::move(model)) {
  const QuestionArguments& question = problem.arguments.question;
  request_.target = question.target;
  request_.names = problem.class_names;
  request_.event = parse_event(problem.arguments, problem.class_names, problem.model.classes());
  request_.other_labels = true;  // labels that are not classes are accepted: the check has already warned about them
  request_.seed = question.seed;
  request_.noises = plan.noises;
  request_.estimators = plan.estimators;
  request_.others = true;  // the rows of an unsupported estimator contain the reason
  request_.refused = [this](const std::string& estimator, const Error& error) { note_refusal(estimator, error); };
  request_.one_block = true;
  request_.total = plan.total;
  if (question.smooth) request_.curve = estimate_curve;
  if (plan_.total > 0) schedule();
}

EstimateRequest BlockEstimator::request_of(PointBlock block) const {
  EstimateRequest request = request_;
  request.x = std::move(block.x);
  request.index = std::move(block.index);
  request.labels = std::move(block.labels);
  return request;
}

// Distributes the total budget among all points before any point is estimated.
void BlockEstimator::schedule() {
  EstimateRequest all = request_of(read_points(problem_, first_position(problem_), point_count(problem_)));
  all.wanted.assign(plan_.questions().size(), false);
  EstimateRun run = problem_.model.start_estimate(std::move(all));
  run.finish();
  request_.scheduled = run.scheduled();
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
    const std::vector<std::int64_t> index = block.index, labels = block.labels;
    EstimateRequest request = request_of(std::move(block));
    request.wanted = wanted;
    EstimateRun run = problem_.model.start_estimate(std::move(request));
    run.finish();
    results = results_of(run, index, labels);
  }
  for (const BadPoint& point : problem_.data->bad()) {
    if (point.index >= first && point.index < first + count) results.skipped.push_back(skipped_point(point, model_));
  }
  pace_ = std::max(1e-9, watch.seconds()) / static_cast<double>(count);
  return results;
}

void BlockEstimator::note_refusal(const std::string& estimator, const Error& error) {
  const bool first = refused_.emplace(estimator, error).second;
  if (!first || problem_.arguments.quiet || plan_.estimators.size() == 1)
    return;  // if this is the only estimator, the run ends with this error
  const std::string whose = error.where.starts_with("estimator ") ? "" : "estimator " + estimator + " cannot be used: ";
  say("probust: {}{} (its rows have no p)\n", whose, error.message(as_flag));
}

Results BlockEstimator::results_of(EstimateRun& run, const std::vector<std::int64_t>& index,
                                   const std::vector<std::int64_t>& labels) const {
  Results results{run.take_rows(), {}, {}};
  const auto label_of = [&](std::size_t i) { return labels.empty() ? std::nullopt : std::optional(labels[i]); };
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::span<const float> logits = run.logits().row(static_cast<std::int64_t>(i));
    results.points.push_back({model_, index[i], label_of(i), predicted_class(logits), {logits.begin(), logits.end()}});
  }
  const std::size_t questions = results.rows.size() / index.size();  // rows per point
  for (std::size_t r = 0; r < results.rows.size(); ++r) {
    results.rows[r].label = label_of(r / questions);
    results.rows[r].model = model_;
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
    if (quiet || !models_samples(estimator)) continue;
    say("{} {}: ", plan.noises[noise].text(), plan.text(estimator));
    if (calibration.points == 0) {
      say("not calibrated, because too few estimates report counts of surviving samples\n");
    } else {
      say("calibrated over {} points, mean p {:.4f} -> {:.4f}\n", calibration.points, calibration.before, calibration.after);
    }
  }
}

}  // namespace probust::cli
