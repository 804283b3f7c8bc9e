// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probust/estimators/estimate.h"
#include "probust/estimators/evaluation.h"

namespace probust {

struct GradientOfP;

/// One entry of the list of estimators.
struct EstimatorDefinition {
  enum class Parameter : std::uint8_t { none, samples, temperature, half_width, threshold };

  /// What the estimator needs from the classifier. Gradients are useless if the classifier is piecewise constant.
  enum class Needs : std::uint8_t { logits, gradients };

  /// The events that the estimator supports besides the survival of the target (Event).
  enum class Answers : std::uint8_t {
    target,              ///< no other events
    groups_and_top,      ///< groups and --top, by counting noisy samples
    groups_and_classes,  ///< groups and --per-class, by one normal probability per class
    every_event
  };

  /// What a sweep over noise scales may smooth: nothing; z = Phi^-1(p), if its error is about that of normal margins, sqrt((1 +
  /// z² / 2) / forwards); or the margins of each point's pairs, if the estimate depends only on them.
  enum class Smoothing : std::uint8_t { none, probabilities, margins };

  /// What an estimate depends on: the point, or all points of its block (pooling.h).
  enum class Scope : std::uint8_t { point, block };

  /// What points share: `none`, so that their errors are independent; `pooled` covariances, shrunk towards those of similar
  /// points; `learned` means and covariances, estimated from all points; `draws` of the noise in addition; for `chosen`, what the
  /// estimator that auto picks shares; `designs`, from which noisy samples follow, whatever the option `share` says.
  enum class Share : std::uint8_t { none, pooled, learned, draws, chosen, designs };

  std::string_view name;
  std::string_view variant = {};  ///< written after the parameter: "centered" in "mmse:10:centered"
  std::string_view summary = {};  ///< one line for the help
  Parameter parameter = Parameter::none;
  std::optional<double> default_parameter = {};  ///< none: the parameter is required
  std::int64_t least = 1;                        ///< the smallest supported number of samples
  Needs needs = Needs::logits;
  Answers answers = Answers::target;
  Smoothing smoothing = Smoothing::none;
  Scope scope = Scope::point;
  std::optional<Share> share = {};  ///< what this entry shares, for estimators with several such entries

  /// Computes one estimate per point. Throws Error.
  std::vector<Estimate> (*estimate)(Evaluation&, const Noise&, const EstimatorSpec&) = nullptr;

  /// Computes EstimatorSpec::passes.
  std::int64_t (*passes)(std::int64_t classes, const EstimatorSpec&) = nullptr;

  /// Computes the gradients of p (gradient/gradient_of_p.h); null if the estimator has none. Throws Error.
  GradientOfP (*gradient)(Executor&, const Points&, const Noise&, const EstimatorSpec&) = nullptr;
};

/// All estimators. The README says how to add one.
std::span<const EstimatorDefinition> all_estimators();

/// The form of an estimator's text, such as "taylor", "mmse:N" or "mmse:N:centered".
std::string form(const EstimatorDefinition& definition);

/// The forms of the `wanted` estimators, for hints: "auto:N, mc:N, ...". By default, all forms without a variant, which are
/// enough for most users.
std::string known_estimators(const std::function<bool(const EstimatorDefinition&)>& wanted = {});

/// Whether an estimator shares draws between points. `text` is that of an EstimatorSpec; false if it is not a known estimator.
bool shares_noise(std::string_view text);

/// Parses "mmse:10". Throws Error{usage} with a hint about valid names.
EstimatorSpec parse_estimator(const std::string& text);

/// Parses "none", "pooled", "learned" or "draws". Throws Error{usage} naming the option `share`.
EstimatorDefinition::Share parse_share(const std::string& text);

/// The form that shares `share` of a probit, regression or auto estimator without a variant: regression:60:pooled for
/// regression:60. Empty if there is no such form, or if the estimator already has a variant. Throws Error{usage} if the estimator
/// has too few samples for that form.
std::optional<EstimatorSpec> with_share(const EstimatorSpec& estimator, EstimatorDefinition::Share share);

/// Throws Error{unsupported} if the estimator needs gradients and the executor has none. The hint names estimators that work.
void require_answerable(const Executor& executor, const EstimatorSpec& estimator);

/// Applies an estimator to a block of points: one estimate per point. For an estimator that uses gradients, p is NaN with the
/// status `degenerate` if the classifier is piecewise constant, and NaN with the status `undefined` if the noise has no Gaussian
/// approximation; the status is `approximate` if such an approximation was used. Points with NaN or infinity get NaN and the
/// status `nonfinite`; other points are unaffected.
Result<std::vector<Estimate>> estimate(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& estimator);

/// Whether an Error of `estimate` is specific to this estimator, because the model or the machine lacks what it needs. If so,
/// other estimators may still work. False for usage errors and stop requests.
bool concerns_one_estimator(const Error& error);

/// The estimates of `points` points after `error`: p = NaN, with the kind of the error as the status and its message as the
/// note.
std::vector<Estimate> refused_estimates(const Error& error, std::int64_t points);

}  // namespace probust
