// SPDX-License-Identifier: MIT
#include "probust/estimators/estimate_run.h"

#include <algorithm>
#include <utility>

#include "probust/estimators/pooling.h"

namespace probust {

std::int64_t block_size(std::span<const EstimatorSpec> estimators) {
  constexpr std::int64_t kFew = 8;  // few, so that rows appear soon; several, so that gradients run in a batch
  const bool borrows = std::any_of(estimators.begin(), estimators.end(), [](const EstimatorSpec& estimator) {
    return estimator.definition->scope == EstimatorDefinition::Scope::block;
  });
  return borrows ? kBlock : kFew;
}

EstimateRun::EstimateRun(Executor& executor, EstimateRequest request, ExternalEngine* external)
    : executor_(executor, external), request_(std::move(request)), block_(block_size(request_.estimators)) {
  if (request_.noises.empty()) throw Error{ErrorCode::usage, "noise", "is missing", "give for example gaussian:0.1"};
  if (request_.x.shape.empty()) throw Error{ErrorCode::usage, "x", "holds no points", ""};
  if (request_.estimators.empty()) throw Error{ErrorCode::usage, "estimators", "are missing", "give for example taylor"};
  for (const EstimatorSpec& estimator : request_.estimators) require_answerable(executor, estimator);
}

std::int64_t EstimateRun::planned() const {
  std::int64_t passes = 0;
  for (const EstimatorSpec& estimator : request_.estimators) passes += estimator.passes(executor_.classes());
  const std::int64_t points = begun_ ? size() : request_.x.shape[0];
  return points * (1 + passes * static_cast<std::int64_t>(request_.noises.size()));
}

bool EstimateRun::step(double milliseconds) {
  executor_.resume(milliseconds);
  if (!begun_ && !find_logits()) return false;
  while (first_ < size()) {
    if (executor_.out_of_time() || !estimate_next()) return false;
    // Each estimate is an attempt of its own: earlier ones are not repeated. The time limit is that of the whole step.
    if (estimates_.size() == request_.noises.size() * request_.estimators.size()) finish_block();
  }
  return true;
}

// False if the time was not enough.
bool EstimateRun::find_logits() {
  auto logits = executor_.logits(request_.x);
  if (!logits && executor_.interrupted()) return false;
  logits_ = std::move(logits).value();
  executor_.forget();
  std::vector<std::int64_t> targets = request_.targets.empty() ? predicted_classes(logits_) : request_.targets;
  if (targets.size() != static_cast<std::size_t>(logits_.shape[0]))
    throw Error{ErrorCode::usage, "target", "has " + std::to_string(targets.size()) + " classes",
                "give one for each of the " + std::to_string(logits_.shape[0]) + " points"};
  points_ = points_of(std::move(request_.x), std::move(targets), request_.offset, request_.seed);
  check(executor_, points_);
  begun_ = true;
  begin_block();
  return true;
}

void EstimateRun::begin_block() {
  const std::int64_t count = std::min(block_, size() - first_);
  if (count > 0)
    evaluation_ = std::make_unique<Evaluation>(executor_, slice(points_, first_, count), probust::rows(logits_, first_, count));
}

// Computes the next estimate of the block; false if the time was not enough. An attempt works on a copy, so that the next one
// asks the executor the same questions.
bool EstimateRun::estimate_next() {
  const Noise& noise = request_.noises[estimates_.size() / request_.estimators.size()];
  const EstimatorSpec& estimator = request_.estimators[estimates_.size() % request_.estimators.size()];
  auto attempt = std::make_unique<Evaluation>(*evaluation_);
  auto made = estimate(*attempt, noise, estimator);
  if (!made && executor_.interrupted()) return false;
  const bool others = request_.estimators.size() > 1;
  if (!made && others && concerns_one_estimator(made.error())) {
    estimates_.push_back(refused_estimates(made.error(), attempt->points().size()));
  } else {
    estimates_.push_back(std::move(made).value());
  }
  evaluation_ = std::move(attempt);
  executor_.forget();
  return true;
}

void EstimateRun::finish_block() {
  const Points& points = evaluation_->points();
  for (std::int64_t i = 0; i < points.size(); ++i) {
    for (std::size_t c = 0; c < estimates_.size(); ++c) {
      const Noise& noise = request_.noises[c / request_.estimators.size()];
      const EstimatorSpec& estimator = request_.estimators[c % request_.estimators.size()];
      rows_.push_back(row_of(points, evaluation_->logits(), i, noise, estimator.text(), std::move(estimates_[c][i])));
    }
  }
  first_ += points.size();
  estimates_.clear();
  begin_block();
}

}  // namespace probust
