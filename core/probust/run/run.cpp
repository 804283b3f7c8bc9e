// SPDX-License-Identifier: MIT
#include "probust/run/run.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "probust/estimators/schedule.h"
#include "probust/estimators/statistics/pooling.h"
#include "probust/estimators/tolerance.h"
#include "probust/perturb/noise_text.h"
#include "probust/run/request.h"

namespace probust {

bool borrows(std::span<const EstimatorSpec> estimators) {
  return std::any_of(estimators.begin(), estimators.end(), [](const EstimatorSpec& estimator) {
    return estimator.definition->scope == EstimatorDefinition::Scope::block;
  });
}

std::int64_t block_size(std::span<const EstimatorSpec> estimators) {
  constexpr std::int64_t kFew = 8;  // few, so that rows appear soon; more than one, so that gradients run in batches
  return borrows(estimators) ? kBlock : kFew;
}

std::size_t end_of_sweep(std::span<const Noise> noises, std::size_t first) {
  std::size_t last = first + 1;
  while (last < noises.size() && noises[last].shape->name() == noises[first].shape->name()) ++last;
  return last;
}

EstimateRun::EstimateRun(Executor& executor, EstimateRequest request, ExternalEngine* external)
    : ExecutorJob(executor, external),
      request_(std::move(request)),
      noises_(request_.noises),
      block_(request_.curve != nullptr ? kBlock : block_size(request_.estimators)),
      count_(request_.x.shape.empty() ? 0 : request_.x.shape[0]) {
  if (request_.noises.empty()) throw Error{ErrorCode::usage, "noise", "is missing", "try gaussian:0.1"};
  if (request_.x.shape.empty()) throw Error{ErrorCode::usage, "x", "has no points", "give at least one"};
  if (request_.estimators.empty()) throw Error{ErrorCode::usage, "estimators", "are missing", "try taylor"};
  for (const EstimatorSpec& estimator : request_.estimators) require_answerable(executor, estimator);
  require_combinable(whole_run(), request_.estimators);
  const Executor& of_data = request_.regression == nullptr ? executor : *request_.regression;
  for (Noise& noise : request_.noises) noise = bound_to(std::move(noise), request_.x, of_data.point_shape());
  if (request_.regression == nullptr) return;
  reject_classifier_options({{"target", !request_.targets.empty() || request_.target != "predicted"},
                             {"labels", !request_.labels.empty()},
                             {"groups", !request_.event.group.empty()},
                             {"top", request_.event.top != 1}});
  const std::int64_t d = element_count(request_.regression->point_shape()), outputs = request_.regression->classes();
  for (Noise& noise : request_.noises) noise.shape = on_inputs(noise.shape, d, outputs);
  request_.target = std::to_string(2 * outputs);
}

std::int64_t EstimateRun::planned() const {
  std::int64_t passes = 0;
  for (const EstimatorSpec& estimator : request_.estimators)
    passes += whole_run().shares(estimator) ? 0 : estimator.passes(executor().classes());
  return request_.total + count_ * (1 + passes * static_cast<std::int64_t>(request_.noises.size()));
}

// The logits, and then each estimate of a block, are separate pieces of work, so that a repeated piece recomputes little.
bool EstimateRun::piece() {
  if (request_.regression != nullptr && !begun_ && !outputs_known()) {
    find_outputs();
  } else if (!begun_) {
    find_logits();
  } else if (request_.total > 0 && !request_.scheduled) {
    share_total();
  } else {
    estimate_next();
  }
  return !begun_ || first_ < count_;
}

bool EstimateRun::outputs_known() const { return !outputs_.shape.empty() && outputs_.shape[0] == count_; }

// Runs the regression model for a few points per piece of work, because a piece cannot be paused.
void EstimateRun::find_outputs() {
  constexpr std::int64_t kPart = 64;
  Executor& regression = *request_.regression;
  const std::int64_t done = outputs_.size() / regression.classes(), part = std::min(kPart, count_ - done);
  const Tensor some = regression.logits(probust::rows(request_.x, done, part)).value();
  outputs_.data.insert(outputs_.data.end(), some.data.begin(), some.data.end());
  outputs_.shape = {done + part, regression.classes()};
  if (done + part == count_) request_.x = with_outputs(request_.x, outputs_);
}

void EstimateRun::find_logits() {
  logits_ = executor().logits(request_.x).value();
  if (!request_.labels.empty() && request_.labels.size() != static_cast<std::size_t>(logits_.shape[0]))
    throw Error{ErrorCode::usage, option("labels"),
                "must have one label per point, not " + std::to_string(request_.labels.size()) + " for " +
                    std::to_string(logits_.shape[0]) + " points",
                "give each point a label, or -1 for none"};
  if (!request_.other_labels) require_classes(request_.labels, logits_.shape[1]);
  std::vector<std::int64_t> targets =
      request_.targets.empty() ? targets_of(request_.target, request_.labels, logits_, request_.names) : request_.targets;
  if (targets.size() != static_cast<std::size_t>(logits_.shape[0]))
    throw Error{ErrorCode::usage, "target",
                "must have one class per point, not " + std::to_string(targets.size()) + " for " +
                    std::to_string(logits_.shape[0]) + " points",
                "give each point a target"};
  if (request_.offset < 0 || request_.offset > std::numeric_limits<std::int64_t>::max() - logits_.shape[0])
    throw Error{ErrorCode::usage, option("first_index"), "is " + std::to_string(request_.offset),
                "give the position of the first point, counted from 0; the position of the last point must fit in 63 bits"};
  points_ = points_of(std::move(request_.x), std::move(targets), request_.offset, request_.seed);
  if (!request_.index.empty()) points_.index = request_.index;
  check(executor(), points_);
  points_.label = asked_labels(request_.labels, points_.target, request_.event, executor().classes());
  begun_ = true;
}

// Distributes the total among all points before any is estimated.
void EstimateRun::share_total() {
  auto made = estimate_within(executor(), points_, logits_, request_.noises, request_.event, request_.total);
  Scheduled all{points_.index, {}};
  if (made) {
    all.estimates = std::move(made).value();
  } else {
    const auto sharing = std::find_if(request_.estimators.begin(), request_.estimators.end(),
                                      [this](const EstimatorSpec& each) { return whole_run().shares(each); });
    all.estimates.assign(request_.noises.size(), answers(*sharing, made.error(), count_));
  }
  request_.scheduled = std::make_shared<const Scheduled>(std::move(all));
  const std::vector<bool>& wanted = request_.wanted;
  if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), true) == wanted.end()) first_ = count_;
}

// The scheduled estimates of the block's points.
std::vector<Estimate> EstimateRun::scheduled_of(std::size_t noise) const {
  const Scheduled& all = *request_.scheduled;
  const std::vector<std::int64_t>& wanted = evaluation_->points().index;
  const auto position = std::lower_bound(all.index.begin(), all.index.end(), wanted.front());
  const auto begin = all.estimates[noise].begin() + (position - all.index.begin());
  return {begin, begin + std::ssize(wanted)};
}

void EstimateRun::begin_block() {
  const std::int64_t left = count_ - first_;
  const std::int64_t count = request_.one_block ? left : std::min(points_in_block(request_.offset + first_, block_), left);
  evaluation_ = std::make_unique<Evaluation>(executor(), slice(points_, first_, count), probust::rows(logits_, first_, count),
                                             request_.event);
  next_ = 0;
  estimates_.assign(request_.noises.size() * request_.estimators.size(), {});
}

// Computes the block's estimates for the next noise and estimator, or for several noises if they form a sweep.
void EstimateRun::estimate_next() {
  if (!evaluation_) begin_block();
  const std::size_t estimators = request_.estimators.size(), noise = next_ / estimators, e = next_ % estimators;
  if (request_.curve != nullptr) {
    std::vector<std::vector<Estimate>> sweep = next_sweep(noise, e);
    for (std::size_t s = 0; s < sweep.size(); ++s) estimates_[(noise + s) * estimators + e] = std::move(sweep[s]);
    next_ = e + 1 < estimators ? next_ + 1 : (noise + sweep.size()) * estimators;
  } else {
    if (request_.wanted.empty() || request_.wanted[next_]) estimates_[next_] = next_question(noise, request_.estimators[e]);
    ++next_;
  }
  if (next_ == estimates_.size()) finish_block();
}

std::vector<std::vector<Estimate>> EstimateRun::next_sweep(std::size_t noise, std::size_t estimator) {
  const std::size_t end = end_of_sweep(request_.noises, noise);
  const EstimatorSpec& spec = request_.estimators[estimator];
  std::vector<double> sigmas;
  for (std::size_t n = noise; n < end; ++n) sigmas.push_back(request_.noises[n].scale);
  auto made = request_.curve(executor(), evaluation_->points(), evaluation_->logits(), request_.noises[noise].shape, sigmas, spec,
                             evaluation_->event());
  if (made) return std::move(made).value();
  return std::vector<std::vector<Estimate>>(sigmas.size(), answers(spec, made.error(), evaluation_->points().size()));
}

// If the attempt may be paused, it works on a copy of the evaluation, so that a repeated attempt sends the executor the same
// requests.
std::vector<Estimate> EstimateRun::next_question(std::size_t noise, const EstimatorSpec& estimator) {
  if (whole_run().shares(estimator)) return scheduled_of(noise);
  auto attempt = can_pause() ? std::make_unique<Evaluation>(*evaluation_) : nullptr;
  Evaluation& evaluation = attempt ? *attempt : *evaluation_;
  std::vector<Estimate> made =
      answers(estimator, estimate(evaluation, request_.noises[noise], estimator), evaluation.points().size());
  if (attempt) evaluation_ = std::move(attempt);
  return made;
}

// The estimates, or the reason for each point if this is one of several estimators and is not supported.
std::vector<Estimate> EstimateRun::answers(const EstimatorSpec& estimator, Result<std::vector<Estimate>> made,
                                           std::int64_t points) const {
  const bool alone = request_.estimators.size() == 1 && !request_.others;
  if (made || alone || !concerns_one_estimator(made.error())) return std::move(made).value();
  if (request_.refused) request_.refused(whole_run().text(estimator), made.error());
  return refused_estimates(made.error(), points);
}

void EstimateRun::finish_block() {
  const Points& points = evaluation_->points();
  for (std::int64_t i = 0; i < points.size(); ++i) {
    for (std::size_t c = 0; c < estimates_.size(); ++c) {
      if (estimates_[c].empty()) continue;
      const Noise& noise = noises_[c / request_.estimators.size()];
      const EstimatorSpec& estimator = request_.estimators[c % request_.estimators.size()];
      rows_.push_back(row_of(points, evaluation_->logits(), i, noise, whole_run().text(estimator), std::move(estimates_[c][i])));
      if (!request_.labels.empty() && request_.labels[first_ + i] != -1) rows_.back().label = request_.labels[first_ + i];
    }
  }
  first_ += points.size();
  evaluation_.reset();
}

}  // namespace probust
