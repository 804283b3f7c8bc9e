// SPDX-License-Identifier: MIT
// auto:N picks an estimator for a budget of N forwards per point, based on the measurements in docs/estimators.md: normal
// margins with covariances from all points if there are few noisy samples; gradients of the mean under the noise from a
// hundred forwards on; shared draws of the noise if there are enough points; and subset simulation if a pilot finds that
// failures are too rare for the budget. Regions of decision trees are integrated over; other classifiers that are constant on
// regions are counted, as are events other than the survival of the target. The row names the estimator that was used.
#include <algorithm>

#include "probust/estimators/common.h"
#include "probust/estimators/surrogate.h"

namespace probust {
namespace {

// More nodes take much algebra: their cost grows with the square.
constexpr std::int64_t kMostNodesOfLine = 100, kMostNodesOfProcess = 250;
constexpr std::int64_t kLeastNodes = 5;

constexpr std::int64_t kGradientsPay = 50;  ///< below this, gradients and their projections take most of the budget
constexpr std::int64_t kPilot = 100;
constexpr std::uint64_t kPilotSeed = 0x9e3779b97f4a7c15;
constexpr double kFewFailures = 10;  ///< if fewer failures are expected among all samples, subset simulation is more accurate

// With many classes, a covariance of logits per point takes too much memory; with many samples, pooling gains nothing.
constexpr std::int64_t kMostClassesToPool = 200, kMostSamplesToPool = 500;

// With few points, the common effect of a draw is uncertain; with many samples, a point's own samples suffice.
constexpr std::size_t kLeastPointsToShare = 60;
constexpr std::int64_t kLeastSamplesToShare = 12, kMostSamplesToShare = 500;
// Limit on the margins of all samples of a point, because those of a whole block are in memory.
constexpr std::int64_t kMostMarginsToShare = 5000;

// Whether shared draws improve the estimates of this many points.
bool shares(const Executor& executor, std::size_t points, const Noise& noise, std::int64_t budget) {
  return points >= kLeastPointsToShare && budget >= kLeastSamplesToShare && budget <= kMostSamplesToShare &&
         budget * executor.classes() <= kMostMarginsToShare && executor.classes() > 1 &&
         executor.classes() <= kMostClassesToPool && !noise.shape->differs();
}

// The estimator for failures that are not rare. Gradients are useless for noise that is not Gaussian.
EstimatorSpec choice(Executor& executor, const Points& points, const Noise& noise, std::int64_t budget, bool share) {
  const bool gradients =
      noise.shape->gaussian().kind == GaussianView::Kind::exact && executor.classes() > 1 && executor.differentiable();
  if (share && gradients && budget >= kPropagationPays) return spec_of(estimate_regression_learned, budget);
  if (share) return spec_of(estimate_probit_shared, budget);
  const bool pool = executor.classes() <= kMostClassesToPool && budget <= kMostSamplesToPool;
  if (budget < kGradientsPay || !gradients)
    return spec_of(pool ? estimate_probit_pooled : estimate_probit, std::max<std::int64_t>(2, budget));
  const bool propagation = budget >= kPropagationPays && propagates(executor, points, noise);
  return spec_of(propagation ? estimate_regression_adf : pool ? estimate_regression_pooled : estimate_regression, budget);
}

// The estimator for perturbations: a surrogate if they have few parameters, of which the noise is a continuous function. Not
// inlined, so that browsers download it only when it is needed (wasm/split).
[[gnu::noinline]] EstimatorSpec choice_for_perturbation(Evaluation& evaluation, const NoiseShape& noise, std::int64_t budget,
                                                        bool independent) {
  const SurrogateUse use = surrogate_use(noise, static_cast<std::int64_t>(evaluation.points().x.row(0).size()));
  if (use.normals == 0) return spec_of(estimate_monte_carlo, budget);
  const EstimatorSpec counting = spec_of(estimate_monte_carlo_sobol, budget);
  if (!noise.continuous() || !use.applies || budget < kLeastNodes) return counting;
  if (use.normals == 1) return spec_of(estimate_surrogate, std::min(budget, kMostNodesOfLine));
  if (independent) return counting;                                                // points share designs
  const bool many = budget >= kRareBudget && use.normals > kMostParametersOfRare;  // then counting is as accurate
  return many ? counting : spec_of(estimate_surrogate, std::min(budget, kMostNodesOfProcess));
}

// The points, as positions, at which a classifier without gradients does not react to a thousandth of a percent of the noise, as
// trees do not and networks do. Costs a forward per point.
[[gnu::noinline]] std::vector<std::int64_t> points_with_steps(Evaluation& evaluation, const Noise& noise) {
  std::vector<std::int64_t> which;
  Points nearby = evaluation.points();
  const std::int64_t elements = element_count(evaluation.executor().point_shape());
  for (std::int64_t i = 0; i < nearby.size(); ++i) {
    const auto index = static_cast<std::uint32_t>(nearby.index[i]), sample = std::uint32_t{0};
    noise.shape->add({nearby.seed ^ kPilotSeed, {&index, 1}, {&sample, 1}}, elements, static_cast<float>(1e-5 * noise.scale),
                     nearby.x.row(i).data());
  }
  const Tensor logits = evaluation.executor().logits(nearby.x).value();
  for (std::int64_t i = 0; i < nearby.size(); ++i) {
    const auto there = logits.row(i), here = evaluation.logits().row(i);
    if (std::equal(there.begin(), there.end(), here.begin())) which.push_back(i);
  }
  return which;
}

// The estimates by another estimator, which is their method.
std::vector<Estimate> by(const EstimatorSpec& chosen, Evaluation& evaluation, const Noise& noise) {
  std::vector<Estimate> estimates = chosen.definition->estimate(evaluation, noise, chosen);
  for (Estimate& estimate : estimates) {
    if (!estimate.method) estimate.method = chosen;
  }
  return estimates;
}

void use(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& estimator, const std::vector<std::int64_t>& which,
         std::vector<Estimate>& estimates) {
  if (which.empty()) return;
  Evaluation part(evaluation.executor(), select(evaluation.points(), which), rows(evaluation.logits(), which));
  std::vector<Estimate> own = estimate(part, noise, estimator).value();
  for (std::size_t k = 0; k < which.size(); ++k) {
    Estimate& chosen = estimates[which[k]];
    own[k].forwards += chosen.forwards;  // passes of the pilot
    if (!own[k].method) own[k].method = estimator;
    chosen = own[k];
  }
}

// The estimates for a classifier that is not constant on regions.
std::vector<Estimate> of_smooth(Evaluation& evaluation, const Noise& noise, std::int64_t budget, bool independent) {
  const std::int64_t n = evaluation.points().size();
  std::vector<Estimate> estimates(static_cast<std::size_t>(n));
  std::vector<std::int64_t> common, rare;
  const auto elements = static_cast<std::int64_t>(evaluation.points().x.row(0).size());
  if (!noise.shape->parameters(elements).empty())
    return by(choice_for_perturbation(evaluation, *noise.shape, budget, independent), evaluation, noise);
  if (budget < kRareBudget || !noise.shape->normals(elements)) {
    for (std::int64_t i = 0; i < n; ++i) common.push_back(i);
  } else {
    Points apart = evaluation.points();
    apart.label.clear();
    apart.seed ^= kPilotSeed;  // the pilot's noise must be independent of the estimate's
    Evaluation pilot(evaluation.executor(), apart, evaluation.logits());
    const EstimatorSpec looking = spec_of(estimate_probit, kPilot);
    estimates = looking.definition->estimate(pilot, noise, looking);
    budget -= kPilot;
    for (std::int64_t i = 0; i < n; ++i) {
      (estimates[i].p_fail * static_cast<double>(budget) < kFewFailures ? rare : common).push_back(i);
    }
  }
  const bool share = !independent && shares(evaluation.executor(), common.size(), noise, budget);
  use(evaluation, noise, choice(evaluation.executor(), evaluation.points(), noise, budget, share), common, estimates);
  if (!rare.empty()) use(evaluation, noise, spec_of(estimate_subset, budget), rare, estimates);
  return estimates;
}

// The estimates for a classifier without gradients: points with steps are counted.
[[gnu::noinline]] std::vector<Estimate> by_steps(Evaluation& evaluation, const Noise& noise, std::int64_t budget,
                                                 bool independent, const EstimatorSpec& counting) {
  const std::vector<std::int64_t> steps = points_with_steps(evaluation, noise);
  std::vector<std::int64_t> smooth;
  for (std::int64_t i = 0; i < evaluation.points().size(); ++i) {
    if (!std::binary_search(steps.begin(), steps.end(), i)) smooth.push_back(i);
  }
  std::vector<Estimate> estimates(static_cast<std::size_t>(evaluation.points().size()));
  for (Estimate& own : estimates) own.forwards = 1;  // the look for steps
  use(evaluation, noise, counting, steps, estimates);
  if (smooth.empty()) return estimates;
  Evaluation part(evaluation.executor(), select(evaluation.points(), smooth), rows(evaluation.logits(), smooth));
  std::vector<Estimate> own = of_smooth(part, noise, budget, independent);
  for (std::size_t k = 0; k < smooth.size(); ++k) {
    own[k].forwards += 1;
    estimates[smooth[k]] = std::move(own[k]);
  }
  return estimates;
}

}  // namespace

std::vector<Estimate> estimate_auto(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  const Executor& executor = evaluation.executor();
  const bool independent = asked.definition->share == EstimatorDefinition::Share::none;
  const std::int64_t budget = asked.samples, n = evaluation.points().size();
  if (n == 0) return {};
  const std::int64_t elements = element_count(executor.point_shape());
  const bool perturbs = !noise.shape->parameters(elements).empty();
  const bool spreads = perturbs && noise.shape->normals(elements);
  const EstimatorSpec counting = spec_of(spreads ? estimate_monte_carlo_sobol : estimate_monte_carlo, budget);
  if (!evaluation.event().plain()) return by(counting, evaluation, noise);
  if (!executor.differentiable()) return by_steps(evaluation, noise, budget, independent, counting);
  if (evaluation.executor().piecewise_constant()) {
    const bool integral = integrates(executor, evaluation.points(), *noise.shape);
    return by(integral ? spec_of(estimate_exact, budget) : counting, evaluation, noise);
  }
  return of_smooth(evaluation, noise, budget, independent);
}

}  // namespace probust
