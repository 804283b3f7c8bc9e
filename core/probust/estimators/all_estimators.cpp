// SPDX-License-Identifier: MIT
// The only list of estimators. To add one: its file in this directory, its line in CMakeLists.txt, and here its function and
// entry.
#include "probust/estimators/estimator.h"

namespace probust {

using EstimatorFunction = std::vector<Estimate>(Evaluation&, const Noise&, const EstimatorSpec&);

EstimatorFunction estimate_auto, estimate_monte_carlo, estimate_stratified, estimate_adf, estimate_taylor, estimate_taylor_mvs,
    estimate_mmse, estimate_mmse_mvs, estimate_mmse_centered, estimate_mmse_loo, estimate_to_half_width, estimate_decision,
    estimate_probit, estimate_probit_pooled, estimate_probit_learned, estimate_probit_shared, estimate_regression,
    estimate_regression_pooled, estimate_regression_adf, estimate_subset, estimate_quadrature, estimate_softmax;

namespace {

using Parameter = EstimatorDefinition::Parameter;
using Needs = EstimatorDefinition::Needs;
using Answers = EstimatorDefinition::Answers;
using Smoothing = EstimatorDefinition::Smoothing;
using Scope = EstimatorDefinition::Scope;

std::int64_t passes_sampled(std::int64_t, const EstimatorSpec& asked) { return asked.samples; }
std::int64_t passes_stratified(std::int64_t classes, const EstimatorSpec& asked) { return asked.samples + 1 + classes; }
std::int64_t passes_linearized(std::int64_t classes, const EstimatorSpec&) { return classes; }
std::int64_t passes_averaged(std::int64_t classes, const EstimatorSpec& asked) { return asked.samples * classes; }
std::int64_t passes_half_width(std::int64_t, const EstimatorSpec& asked) {
  return static_cast<std::int64_t>(0.9 / (asked.value * asked.value));
}
std::int64_t passes_decision(std::int64_t, const EstimatorSpec&) { return 1000; }
std::int64_t passes_one(std::int64_t, const EstimatorSpec&) { return 1; }

// For two normals; one normal takes fewer.
std::int64_t passes_grid(std::int64_t, const EstimatorSpec& asked) { return (asked.samples + 1) * (asked.samples + 1); }

constexpr double kDefaultBudget = 100;  ///< of auto, in forwards
constexpr double kDefaultCells = 256;   ///< of quadrature, per side

constexpr EstimatorDefinition kEstimators[] = {
    {.name = "auto",
     .summary = "chosen for a budget of N forwards per point, and by how rare failures are; the row says which",
     .parameter = Parameter::samples,
     .default_parameter = kDefaultBudget,
     .least = 2,
     .answers = Answers::every_event,
     .smoothing = Smoothing::probabilities,
     .scope = Scope::block,
     .estimate = estimate_auto,
     .passes = passes_sampled},
    {.name = "mc",
     .summary = "share of N noisy copies that keep the answer",
     .parameter = Parameter::samples,
     .answers = Answers::every_event,
     .estimate = estimate_monte_carlo,
     .passes = passes_sampled},
    {.name = "mc",
     .variant = "stratified",
     .summary = "mc with copies spread evenly along the gradient of p",
     .parameter = Parameter::samples,
     .least = 2,
     .answers = Answers::groups_and_top,
     .estimate = estimate_stratified,
     .passes = passes_stratified},
    {.name = "mc",
     .summary = "mc with as many copies as a 95% interval of ±H needs",
     .parameter = Parameter::half_width,
     .answers = Answers::groups_and_top,
     .estimate = estimate_to_half_width,
     .passes = passes_half_width},
    {.name = "mc",
     .summary = "mc until p > TAU is decided with 95% confidence",
     .parameter = Parameter::threshold,
     .answers = Answers::groups_and_top,
     .estimate = estimate_decision,
     .passes = passes_decision},
    {.name = "taylor",
     .summary = "normal CDF with straight boundaries, from the gradients at the point",
     .needs = Needs::gradients,
     .answers = Answers::groups_and_classes,
     .estimate = estimate_taylor,
     .passes = passes_linearized},
    {.name = "taylor_mvs",
     .summary = "taylor with the mv-sigmoid instead of the normal CDF",
     .needs = Needs::gradients,
     .answers = Answers::groups_and_classes,
     .estimate = estimate_taylor_mvs,
     .passes = passes_linearized},
    {.name = "mmse",
     .summary = "taylor with margins and gradients averaged over N noisy copies",
     .parameter = Parameter::samples,
     .needs = Needs::gradients,
     .answers = Answers::groups_and_classes,
     .estimate = estimate_mmse,
     .passes = passes_averaged},
    {.name = "mmse",
     .variant = "centered",
     .summary = "mmse without the mean of the noise: exact on linear models, biased on others",
     .parameter = Parameter::samples,
     .needs = Needs::gradients,
     .answers = Answers::groups_and_classes,
     .estimate = estimate_mmse_centered,
     .passes = passes_averaged},
    {.name = "mmse",
     .variant = "loo",
     .summary = "mmse with the gradients of the other copies: no bias, more variance",
     .parameter = Parameter::samples,
     .least = 2,
     .needs = Needs::gradients,
     .answers = Answers::groups_and_classes,
     .estimate = estimate_mmse_loo,
     .passes = passes_averaged},
    {.name = "mmse_mvs",
     .summary = "mmse with the mv-sigmoid instead of the normal CDF",
     .parameter = Parameter::samples,
     .needs = Needs::gradients,
     .answers = Answers::groups_and_classes,
     .estimate = estimate_mmse_mvs,
     .passes = passes_averaged},
    {.name = "probit",
     .summary = "normal CDF with the mean and covariance of the margins of N noisy copies",
     .parameter = Parameter::samples,
     .least = 2,
     .smoothing = Smoothing::margins,
     .estimate = estimate_probit,
     .passes = passes_sampled},
    {.name = "probit",
     .variant = "pooled",
     .summary = "probit with covariances shrunk towards those of similar points",
     .parameter = Parameter::samples,
     .least = 2,
     .smoothing = Smoothing::margins,
     .scope = Scope::block,
     .estimate = estimate_probit_pooled,
     .passes = passes_sampled},
    {.name = "probit",
     .variant = "learned",
     .summary = "probit with covariances learned from all points of a block",
     .parameter = Parameter::samples,
     .least = 8,
     .scope = Scope::block,
     .estimate = estimate_probit_learned,
     .passes = passes_sampled},
    {.name = "probit",
     .variant = "shared",
     .summary = "probit:N:learned, and points share draws of the noise: errors are smaller, but not independent",
     .parameter = Parameter::samples,
     .least = 8,
     .scope = Scope::block,
     .estimate = estimate_probit_shared,
     .passes = passes_sampled},
    {.name = "regression",
     .summary = "normal CDF of what a few gradients explain of N noisy copies, averaged over the residuals",
     .parameter = Parameter::samples,
     .least = 8,
     .needs = Needs::gradients,
     .smoothing = Smoothing::probabilities,
     .estimate = estimate_regression,
     .passes = passes_sampled},
    {.name = "regression",
     .variant = "adf",
     .summary = "regression on gradients of the classifier's mean under the noise",
     .parameter = Parameter::samples,
     .least = 16,
     .needs = Needs::gradients,
     .smoothing = Smoothing::probabilities,
     .estimate = estimate_regression_adf,
     .passes = passes_sampled},
    {.name = "regression",
     .variant = "pooled",
     .summary = "regression with covariances shrunk towards those of similar points",
     .parameter = Parameter::samples,
     .least = 8,
     .needs = Needs::gradients,
     .smoothing = Smoothing::probabilities,
     .scope = Scope::block,
     .estimate = estimate_regression_pooled,
     .passes = passes_sampled},
    {.name = "adf",
     .summary = "normal CDF with straight boundaries, from moments propagated layer by layer",
     .needs = Needs::gradients,
     .answers = Answers::groups_and_classes,
     .estimate = estimate_adf,
     .passes = passes_linearized},
    {.name = "subset",
     .summary = "rare failures, by subset simulation",
     .parameter = Parameter::samples,
     .least = 200,
     .estimate = estimate_subset,
     .passes = passes_sampled},
    {.name = "quadrature",
     .summary = "sum over a grid of N cells per side, for noise of one or two normal variables",
     .parameter = Parameter::samples,
     .default_parameter = kDefaultCells,
     .least = 8,
     .estimate = estimate_quadrature,
     .passes = passes_grid},
    {.name = "softmax",
     .summary = "the classifier's own confidence at temperature T, which ignores the noise",
     .parameter = Parameter::temperature,
     .default_parameter = 1.0,
     .estimate = estimate_softmax,
     .passes = passes_one},
};

}  // namespace

std::span<const EstimatorDefinition> all_estimators() { return kEstimators; }

}  // namespace probust
