// SPDX-License-Identifier: MIT
#include "probust/estimators/estimate_run.h"

#include <algorithm>
#include <utility>

#include "probust/estimators/pooling.h"

namespace probust {

bool borrows(std::span<const EstimatorSpec> estimators) {
  return std::any_of(estimators.begin(), estimators.end(), [](const EstimatorSpec& estimator) {
    return estimator.definition->scope == EstimatorDefinition::Scope::block;
  });
}

std::int64_t block_size(std::span<const EstimatorSpec> estimators) {
  constexpr std::int64_t kFew = 8;  // few, so that rows appear soon; several, so that gradients run in a batch
  return borrows(estimators) ? kBlock : kFew;
}

EstimateRun::EstimateRun(Executor& executor, EstimateRequest request, ExternalEngine* external)
    : ExecutorJob(executor, external),
      request_(std::move(request)),
      block_(block_size(request_.estimators)),
      count_(request_.x.shape.empty() ? 0 : request_.x.shape[0]) {
  if (request_.noises.empty()) throw Error{ErrorCode::usage, "noise", "is missing", "give for example gaussian:0.1"};
  if (request_.x.shape.empty()) throw Error{ErrorCode::usage, "x", "holds no points", ""};
  if (request_.estimators.empty()) throw Error{ErrorCode::usage, "estimators", "are missing", "give for example taylor"};
  for (const EstimatorSpec& estimator : request_.estimators) require_answerable(executor, estimator);
}

std::int64_t EstimateRun::planned() const {
  std::int64_t passes = 0;
  for (const EstimatorSpec& estimator : request_.estimators) passes += estimator.passes(executor().classes());
  return count_ * (1 + passes * static_cast<std::int64_t>(request_.noises.size()));
}

// The logits, and then each estimate of each block, are pieces of their own: they are not repeated once they are known.
bool EstimateRun::piece() {
  if (begun_) {
    estimate_next();
  } else {
    find_logits();
  }
  return first_ < size();
}

void EstimateRun::find_logits() {
  logits_ = executor().logits(request_.x).value();
  std::vector<std::int64_t> targets = request_.targets.empty() ? predicted_classes(logits_) : request_.targets;
  if (targets.size() != static_cast<std::size_t>(logits_.shape[0]))
    throw Error{ErrorCode::usage, "target", "has " + std::to_string(targets.size()) + " classes",
                "give one for each of the " + std::to_string(logits_.shape[0]) + " points"};
  points_ = points_of(std::move(request_.x), std::move(targets), request_.offset, request_.seed);
  check(executor(), points_);
  begun_ = true;
  begin_block();
}

void EstimateRun::begin_block() {
  const std::int64_t count = std::min(points_in_block(request_.offset + first_, block_), size() - first_);
  if (count > 0)
    evaluation_ = std::make_unique<Evaluation>(executor(), slice(points_, first_, count), probust::rows(logits_, first_, count));
}

// Computes the next estimate of the block. An attempt works on a copy of the evaluation, so that the next one asks the executor
// the same questions.
void EstimateRun::estimate_next() {
  const Noise& noise = request_.noises[estimates_.size() / request_.estimators.size()];
  const EstimatorSpec& estimator = request_.estimators[estimates_.size() % request_.estimators.size()];
  auto attempt = std::make_unique<Evaluation>(*evaluation_);
  auto made = estimate(*attempt, noise, estimator);
  const bool others = request_.estimators.size() > 1;
  if (!made && others && concerns_one_estimator(made.error())) {
    estimates_.push_back(refused_estimates(made.error(), attempt->points().size()));
  } else {
    estimates_.push_back(std::move(made).value());
  }
  evaluation_ = std::move(attempt);
  if (estimates_.size() == request_.noises.size() * request_.estimators.size()) finish_block();
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
