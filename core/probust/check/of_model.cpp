// SPDX-License-Identifier: MIT
#include "probust/check/of_model.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <numeric>
#include <utility>

#include "probust/run/request.h"

namespace probust {
namespace {

// The points that may be selected: those with a label, if any point has one.
std::vector<std::int64_t> candidates(std::int64_t points, const std::vector<std::int64_t>& labels) {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < std::ssize(labels); ++i) {
    if (labels[static_cast<std::size_t>(i)] != -1) positions.push_back(i);
  }
  if (!positions.empty()) return positions;
  positions.resize(static_cast<std::size_t>(points));
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

CheckInput check_input(const CheckedModel& model, const Tensor& x, const std::vector<std::int64_t>& labels,
                       const std::vector<double>& sigmas, std::int64_t most) {
  if (x.shape.empty()) throw Error{ErrorCode::usage, "x", "is a single number", "give an array of points"};
  if (!labels.empty() && std::ssize(labels) != x.shape[0])
    throw Error{ErrorCode::usage, option("labels"),
                "must have one label per point, not " + std::to_string(labels.size()) + " labels for " +
                    std::to_string(x.shape[0]) + " points",
                "give each point a label"};
  if (model.classifies) refuse_signs(labels, model.executor.classes());
  const std::vector<std::int64_t> all = candidates(x.shape[0], labels);
  std::vector<std::int64_t> positions;
  for (const std::int64_t i : spread_positions(std::ssize(all), most)) positions.push_back(all[static_cast<std::size_t>(i)]);
  CheckInput input;
  input.x = rows(x, positions);
  input.preprocessing = model.preprocessing;
  std::copy_if(labels.begin(), labels.end(), std::back_inserter(input.all_labels),
               [](std::int64_t label) { return label != -1; });
  if (!input.all_labels.empty()) {
    for (const std::int64_t position : positions) input.labels.push_back(labels[static_cast<std::size_t>(position)]);
  }
  input.sigmas = sigmas;
  input.input_shape = model.input_shape;
  if (!model.classifies) return input;
  input.classes = model.executor.classes();
  input.decision = model.decision;
  input.logits = raw_logits(model.executor, model.input_shape, model.preprocessing);
  return input;
}

}  // namespace

CheckReport check_model(const CheckedModel& model, const Tensor& x, const std::vector<std::int64_t>& labels,
                        const std::vector<double>& sigmas) {
  constexpr std::int64_t kPoints = 500;
  CheckInput input = check_input(model, x, labels, sigmas, kPoints);
  input.thorough = true;
  return check(input);
}

CheckReport first_check(const CheckedModel& model, const EstimateRequest& request, std::int64_t points) {
  std::vector<double> sigmas;
  for (const Noise& noise : request.noises) {
    if (const auto sigma = noise.sigma(); sigma && noise.shape->in_data_units()) sigmas.push_back(*sigma);
  }
  CheckInput input = check_input(model, request.x, request.labels, sigmas, kFirstCheckPoints);
  if (model.classifies) require_classes(request.labels, model.executor.classes());
  if (points == 0) points = request.x.shape[0];
  std::int64_t passes = 0;  // passes per point
  for (const EstimatorSpec& estimator : request.estimators) passes += estimator.passes(model.executor.classes());
  const std::int64_t planned = points * (1 + passes * std::ssize(request.noises)) + request.total;
  return first_check(std::move(input), model.executor, points, planned);
}

CheckReport first_check(CheckInput input, Executor& executor, std::int64_t points, std::int64_t planned) {
  input.most_passes = first_check_passes(points, planned);
  if (input.labels.empty() || input.most_passes < 1) input.logits = nullptr;
  std::atomic<std::int64_t>& passes = executor.progress.passes;
  const std::int64_t before = passes;
  CheckReport report = check(input);
  passes = before;
  return report;
}

void add_one_class(CheckReport& report, std::int64_t points, std::int64_t of_class) {
  if (points >= kEnoughForOneClass) report.findings.push_back(one_class_finding(points, of_class, report.decision));
}

}  // namespace probust
