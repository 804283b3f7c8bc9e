// SPDX-License-Identifier: MIT
#pragma once

#include "probust/base/linear_algebra.h"
#include "probust/estimators/estimator.h"
#include "probust/estimators/linearization.h"

// Functions that several estimators use.
namespace probust {

using EstimatorFunction = std::vector<Estimate>(Evaluation&, const Noise&, const EstimatorSpec&);

// Estimators that other estimators call.
EstimatorFunction estimate_auto, estimate_exact, estimate_monte_carlo, estimate_monte_carlo_sobol, estimate_probit,
    estimate_probit_pooled, estimate_probit_learned, estimate_probit_shared, estimate_regression, estimate_regression_pooled,
    estimate_regression_adf, estimate_regression_learned, estimate_subset, estimate_surrogate;

/// The estimator with this function, with a number of samples as its parameter.
EstimatorSpec spec_of(EstimatorFunction* function, std::int64_t samples);

/// An estimate of NaN with the status `nonfinite`.
Estimate nonfinite_estimate();

/// Whether point i and its logits are all finite. With `missing`, the point may have NaN (Executor::handles_missing).
bool finite_at(const Points& points, const Tensor& logits, std::int64_t i, bool missing);

/// The class other than the target whose probability is needed at point i: its label. -1 if there is no label or the label is
/// the target.
std::int64_t other_label(const Points& points, std::int64_t i);

/// z = Phi^-1(p), computed from the smaller of p and 1 - p.
double z_of(const Estimate& estimate);

/// A number in the format of notes: "1.2e-06".
std::string short_text(double value);

/// Sets the status `inexact`, with the note that rivals beyond the `taken` nearest may add min(left_out, p) to p_fail.
void mark_left_out(Estimate& estimate, std::size_t taken, double left_out);

/// The function that turns a normal problem into a probability.
enum class NormalCdf { exact, mv_sigmoid };

/// The derivatives p² e^-z_i of the mv-sigmoid p of z with respect to z.
Eigen::VectorXd mv_sigmoid_gradient(const NormalProblem& problem, double p);

/// p = Phi_R(z) of a linearization, by the multivariate normal CDF or by the paper's mv-sigmoid. Certain, degenerate and
/// non-finite linearizations have defined results. If margins were sampled (samples > 1), the estimate has a standard error,
/// from their scatter by the delta method. The result is meaningless if `stop` is set during the call.
Estimate from_linearization(const Linearization& linearization, std::int64_t target, double sigma, NormalCdf cdf,
                            std::int64_t samples, const std::atomic<bool>* stop = nullptr);

/// from_linearization for margins with known moments, by the normal CDF.
Estimate from_moments(const MarginMoments& moments, std::int64_t target, const std::atomic<bool>* stop = nullptr);

/// The linearization with class `other` as its target.
Linearization retargeted(const Linearization& linearization, std::int64_t target, std::int64_t other);

/// from_linearization with NormalCdf::exact for many linearizations [N] with targets [N].
std::vector<Estimate> from_linearizations(Executor& executor, std::span<const Linearization> linearizations,
                                          std::span<const std::int64_t> targets, double sigma, std::int64_t samples);

/// How linearizations are turned into estimates.
struct ProbabilityRule {
  NormalCdf cdf = NormalCdf::exact;
  std::int64_t samples = 0;                                 ///< number of noisy samples averaged over
  Linearization (*repair)(const Linearization&) = nullptr;  ///< applied to each linearization first; null if not needed
  std::int64_t forwards = 0, backwards = 0;                 ///< passes per linearization
};

/// One estimate per point, for the event of the evaluation. For groups, p is the sum over the classes of the target's group,
/// and p_fail the sum over the others. For per_class, the estimate has the probability of each class.
std::vector<Estimate> to_estimates(Evaluation& evaluation, const Linearizing& how, double sigma, const ProbabilityRule& rule);

/// Whether every operator has a moment rule for this noise. Determined by computing the gradient of one point.
bool propagates(Executor& executor, const Points& points, const Noise& noise);

/// Whether `exact` applies: the classifier is an ensemble of trees, and the noise has independent elements.
bool integrates(const Executor& executor, const Points& points, const NoiseShape& noise);

/// At this cost and above, gradients of the mean under the noise improve estimates more than samples of the same cost.
inline constexpr std::int64_t kPropagationPays = 100;

/// With this budget or more, auto:N runs a pilot to find points whose failures are too rare to count.
inline constexpr std::int64_t kRareBudget = 1000;

}  // namespace probust
