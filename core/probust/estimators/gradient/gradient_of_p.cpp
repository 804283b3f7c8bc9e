// SPDX-License-Identifier: MIT
// Checks that an estimator has a gradient and suits the model, the noise and the points, then computes it.
#include "probust/estimators/gradient/gradient_of_p.h"

#include <algorithm>
#include <cmath>

#include "probust/exec/checks.h"

namespace probust {
namespace {

bool has_gradient(const EstimatorDefinition& definition) { return definition.gradient != nullptr; }

void require_gradient(Executor& executor, const EstimatorSpec& estimator) {
  const EstimatorDefinition& definition = *estimator.definition;
  const std::string where = "estimator " + estimator.text();
  if (!has_gradient(definition))
    throw Error{ErrorCode::usage, where, "has no gradient of p", "use one of " + known_estimators(has_gradient)};
  if (definition.needs == EstimatorDefinition::Needs::logits) return;
  require_answerable(executor, estimator);
  if (executor.facts().classifier == nullptr)
    throw Error{ErrorCode::unsupported, where, "needs second derivatives, but this model is a function, not a graph",
                "use mc:N, or load the model from a file"};
  if (executor.piecewise_constant())
    throw Error{ErrorCode::unsupported, where, "has no useful gradient, because the classifier is piecewise constant",
                "use mc:N"};
}

void require_additive_noise(const Noise& noise) {
  if (noise.shape->map() != nullptr || noise.shape->fixed())
    throw Error{ErrorCode::unsupported, "the gradient of p", "needs additive noise, not " + noise.text(), "try gaussian:0.1"};
  const GaussianView view = noise.shape->gaussian();
  if (view.kind == GaussianView::Kind::absent)
    throw Error{ErrorCode::unsupported, "the gradient of p", "needs noise with a Gaussian approximation, not " + noise.text(),
                "try gaussian:0.1"};
}

void require_finite(const Points& points) {
  for (std::int64_t i = 0; i < points.size(); ++i) {
    const auto row = points.x.row(i);
    if (std::all_of(row.begin(), row.end(), [](float value) { return std::isfinite(value); })) continue;
    throw Error{ErrorCode::usage, "point " + std::to_string(points.index[i]), "contains NaN or infinity", "leave it out"};
  }
}

void add_warnings(GradientOfP& result, const Noise& noise) {
  const GaussianView view = noise.shape->gaussian();
  if (view.kind == GaussianView::Kind::approximate) result.warnings.push_back(view.reason);
  const auto missing = std::count_if(result.p.begin(), result.p.end(), [](double p) { return std::isnan(p); });
  if (missing > 0)
    result.warnings.push_back("p could not be computed for " + std::to_string(missing) + " points: their gradients are NaN");
}

}  // namespace

Result<GradientOfP> gradient_of_p(Executor& executor, const Points& points, const Noise& given, const EstimatorSpec& estimator) {
  return guarded("the gradient of p", [&] {
    require_gradient(executor, estimator);
    const Noise noise = bound(given, executor.point_shape());
    require_additive_noise(noise);
    check(executor, points, *noise.shape);
    require_finite(points);
    GradientOfP result = estimator.definition->gradient(executor, points, noise, estimator);
    add_warnings(result, noise);
    return result;
  });
}

}  // namespace probust
