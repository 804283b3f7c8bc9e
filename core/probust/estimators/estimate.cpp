// SPDX-License-Identifier: MIT
// Checks that an estimator suits the model and the noise, then runs it.
#include <optional>

#include "probust/estimators/common.h"
#include "probust/estimators/latent.h"
#include "probust/estimators/statistics/counts.h"
#include "probust/exec/checks.h"

namespace probust {
namespace {

using Answers = EstimatorDefinition::Answers;

bool uses_gradients(const EstimatorDefinition& definition) { return definition.needs == EstimatorDefinition::Needs::gradients; }

bool counts(Answers answers) { return answers == Answers::every_event || answers == Answers::groups_and_top; }

bool supports(Answers answers, const Event& event) {
  if (event.plain()) return true;
  if (event.top > 1) return counts(answers);
  return answers != Answers::target && !(event.per_class && answers == Answers::groups_and_top);
}

// The names of the estimators that support an event.
std::string estimators_for(const Event& event) {
  return known_estimators([&](const EstimatorDefinition& definition) { return supports(definition.answers, event); });
}

}  // namespace

void require_answerable(const Executor& executor, const EstimatorSpec& estimator) {
  if (executor.differentiable() || !uses_gradients(*estimator.definition)) return;
  throw Error{ErrorCode::unsupported, "estimator " + estimator.text(),
              "needs gradients, which " + std::string(executor.name()) + " does not compute",
              "use one of " + known_estimators([](const EstimatorDefinition& one) { return !uses_gradients(one); })};
}

namespace {

std::vector<Estimate> unanswered(std::int64_t points, Status status, const std::string& note) {
  Estimate estimate = nonfinite_estimate();
  estimate.set(status, note);
  return std::vector<Estimate>(static_cast<std::size_t>(points), estimate);
}

// Throws if the event is impossible with this many classes or the estimator does not support it.
void refuse_unanswered(const Event& event, std::int64_t classes, const EstimatorSpec& estimator) {
  const Answers answers = estimator.definition->answers;
  const std::string where = "estimator " + estimator.text();
  if (event.top < 1 || event.top > classes)
    throw Error{ErrorCode::usage, option("top"),
                "is " + std::to_string(event.top) + ", but the model has " + std::to_string(classes) + " classes",
                "give 1 to " + std::to_string(classes)};
  if (event.top > 1 && !event.group.empty())
    throw Error{ErrorCode::usage, "the event", "cannot combine groups with the K largest logits", "use one of the two"};
  if (event.top > 1 && !counts(answers))
    throw Error{ErrorCode::usage, where, "does not compute whether a class stays among the largest logits",
                "use one of " + estimators_for(Event{{}, false, 2})};
  if ((event.per_class || !event.group.empty()) && !counts(answers) && classes > static_cast<std::int64_t>(kMostRivals))
    throw Error{ErrorCode::resources, where,
                "computes probabilities of groups and of each class only for models with at most " + std::to_string(kMostRivals) +
                    " classes, but this model has " + std::to_string(classes),
                "use mc:N"};
  if (!supports(answers, event))
    throw Error{ErrorCode::usage, where,
                event.per_class ? "does not compute the probability of each class" : "supports only the target, not groups",
                "use one of " + estimators_for(event)};
}

// Runs an estimator that assumes linear margins and Gaussian noise. The margins of sign networks and trees are constant around
// almost every point, so that gradients are zero even if p is small.
std::vector<Estimate> analytical(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& estimator) {
  const std::int64_t points = evaluation.points().size();
  if (evaluation.executor().piecewise_constant())
    return unanswered(points, Status::degenerate, "the classifier is piecewise constant; use auto:N or mc:N");
  const GaussianView view = noise.shape->gaussian();
  if (view.kind == GaussianView::Kind::absent) return unanswered(points, Status::undefined, view.reason);
  std::vector<Estimate> estimates = estimator.definition->estimate(evaluation, noise, estimator);
  for (Estimate& estimate : estimates) {
    if (view.kind == GaussianView::Kind::approximate && estimate.status == Status::ok)
      estimate.set(Status::approximate, view.reason);
  }
  return estimates;
}

// If all samples of a point are the same, one pass determines exactly whether the target survives. Like by_latents, this is not
// inlined, so that browsers download it only when needed (wasm/split).
[[gnu::noinline]] std::vector<Estimate> certain(Evaluation& evaluation, const Noise& noise) {
  const Points& points = evaluation.points();
  const std::int64_t elements = points.size() == 0 ? 0 : points.x.size() / points.size();
  check(evaluation.executor(), points, *noise.shape);
  Tensor changed = points.x;
  for (std::int64_t i = 0; i < points.size(); ++i) {
    const auto index = static_cast<std::uint32_t>(points.index[i]), sample = std::uint32_t{0};
    noise.shape->add({points.seed, {&index, 1}, {&sample, 1}}, elements, static_cast<float>(noise.scale), changed.row(i).data());
  }
  const Tensor logits = evaluation.executor().logits(changed).value();
  std::vector<Estimate> estimates(static_cast<std::size_t>(points.size()));
  for (std::int64_t i = 0; i < points.size(); ++i) {
    const auto placed = placed_classes(evaluation.event(), logits.row(i));
    Estimate& own = estimates[i];
    own.p = survivors_of(evaluation.event(), placed, points.target[i]) > 0 ? 1 : 0;
    own.p_fail = 1 - own.p;
    own.forwards = 1;
    if (const std::int64_t label = other_label(points, i); label >= 0)
      own.p_label = survivors_of(evaluation.event(), placed, label) > 0 ? 1 : 0;
    if (evaluation.event().per_class) own.classes.assign(placed.begin(), placed.end());
  }
  return estimates;
}

// Whether the estimator linearises at the point and therefore misses second-order effects of a map.
bool sees_first_order_only(const EstimatorSpec& estimator) {
  return uses_gradients(*estimator.definition) && estimator.samples == 0 && !estimator.is_auto();
}

// Estimates for noise that is a map, as the equivalent problem for its latents z. Empty if the executor cannot run the map; the
// noise can then only be sampled.
[[gnu::noinline]] std::optional<std::vector<Estimate>> by_latents(Evaluation& evaluation, const Noise& noise,
                                                                  const EstimatorSpec& estimator) {
  auto latent = latent_problem(evaluation.executor(), evaluation.points(), noise);
  if (!latent) return std::nullopt;
  if (!latent->flat.empty() && sees_first_order_only(estimator))
    return unanswered(evaluation.points().size(), Status::degenerate, latent->flat + " has no first-order effect; use mc:N");
  Evaluation own(latent->executor, std::move(latent->points), std::move(latent->logits), evaluation.event());
  return estimate(own, latent->noise, estimator).value();
}

std::vector<Estimate> by_estimator(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& estimator) {
  if (noise.shape->fixed()) return certain(evaluation, noise);
  return uses_gradients(*estimator.definition) ? analytical(evaluation, noise, estimator)
                                               : estimator.definition->estimate(evaluation, noise, estimator);
}

}  // namespace

bool concerns_one_estimator(const Error& error) {
  return error.code == ErrorCode::unsupported || error.code == ErrorCode::resources || error.code == ErrorCode::numerical;
}

std::vector<Estimate> refused_estimates(const Error& error, std::int64_t points) {
  const Status status = error.code == ErrorCode::unsupported ? Status::unsupported
                        : error.code == ErrorCode::resources ? Status::resources
                                                             : Status::numerical;
  return unanswered(points, status, error.message());
}

Result<std::vector<Estimate>> estimate(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& estimator) {
  return guarded("estimator " + estimator.text(), [&] {
    const Points& points = evaluation.points();
    require_answerable(evaluation.executor(), estimator);
    refuse_unanswered(evaluation.event(), evaluation.executor().classes(), estimator);
    if (!noise.shape->fixed() && noise.shape->map() != nullptr) {
      if (auto estimates = by_latents(evaluation, noise, estimator)) return std::move(*estimates);
    }
    std::vector<Estimate> estimates = by_estimator(evaluation, noise, estimator);
    const bool missing = evaluation.executor().handles_missing();
    stop_if_asked(&evaluation.executor().progress.stop);  // after a stop request, estimates are meaningless
    for (std::int64_t i = 0; i < points.size(); ++i) {
      if (finite_at(points, evaluation.logits(), i, missing)) continue;
      Estimate replaced = nonfinite_estimate();
      replaced.forwards = estimates[i].forwards;
      replaced.backwards = estimates[i].backwards;
      replaced.method = estimates[i].method;
      estimates[i] = replaced;
    }
    return estimates;
  });
}

}  // namespace probust
