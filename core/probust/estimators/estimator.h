// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probust/exec/executor.h"

namespace probust {

/// What has to survive, if not just the target itself.
struct Event {
  /// [C] The group of each class: any class of the target's group will do. Empty: every class is its own group.
  std::vector<std::int64_t> group;
  bool per_class = false;  ///< also compute each class's probability to win, or to be among the `top`
  std::int64_t top = 1;    ///< the target need only be among this many largest logits; in a tie the lower indices count

  bool plain() const { return group.empty() && !per_class && top == 1; }
  bool same_group(std::int64_t a, std::int64_t b) const { return a == b || (!group.empty() && group[a] == group[b]); }
};

/// The result of an estimator for one point and one noise model.
struct Estimate {
  double p = 0;                           ///< probability that the target is kept; NaN if it could not be computed
  double p_fail = 0;                      ///< 1 - p, computed directly
  std::optional<double> std_error;        ///< of p, from sampling the network; none for deterministic estimators
  std::optional<double> ci_low, ci_high;  ///< 95% interval of p, if the estimator has one
  std::int64_t forwards = 0;              ///< passes that this estimate used, without the one that found the prediction
  std::int64_t backwards = 0;             ///< a sweep with S seeds counts S
  /// Copies from whose margins p was modelled, and how many of them kept the target. Used for calibration
  /// (analysis/calibration.h). 0 if p uses no model or no copies.
  std::int64_t copies = 0, kept = 0;
  std::string status = "ok";
  std::vector<double> classes;  ///< [C] the probability that each class wins, if the event asks for it
};

/// A way to linearise a classifier around points.
struct Linearizing {
  std::string key;           ///< equal only for equal linearizations
  std::int64_t samples = 0;  ///< noisy copies of each point to average over
  std::function<std::vector<Linearization>(Executor&, const Points&)> ask;
};

/// At the points themselves, for one noise shape (any scale).
Linearizing at_points(const Noise& noise);

/// Of the classifier's mean under the noise, by moment propagation.
Linearizing under_noise(const Noise& noise);

/// Averaged over `samples` noisy copies.
Linearizing over_copies(const Noise& noise, std::int64_t samples);

/// A block of points to evaluate. Linearizations are shared between estimators.
class Evaluation {
 public:
  /// `logits` [N, C] are those at the points, without noise.
  Evaluation(Executor& executor, Points points, Tensor logits, Event event = {})
      : executor_(executor), points_(std::move(points)), logits_(std::move(logits)), event_(std::move(event)) {}

  Executor& executor() { return executor_; }
  const Executor& executor() const { return executor_; }
  const Points& points() const { return points_; }
  const Tensor& logits() const { return logits_; }
  const Event& event() const { return event_; }

  /// Calls use(some, first) with the linearizations of the points from `first` on, a part at a time. They are kept for the next
  /// call unless they take too much of the executor's memory. Throws Error{resources} if even those of one point do.
  void each_linearized(const Linearizing& how, const std::function<void(std::span<const Linearization>, std::int64_t)>& use);

 private:
  Executor& executor_;
  Points points_;
  Tensor logits_;
  Event event_;
  std::map<std::string, std::vector<Linearization>> known_;
  std::int64_t known_bytes_ = 0;
};

/// One entry of the list of estimators.
struct EstimatorDefinition {
  enum class Parameter { none, samples, temperature, half_width, threshold };

  std::string_view name;
  std::string_view variant = {};  ///< written after the parameter: the "centered" of "mmse:10:centered"
  std::string_view summary = {};  ///< one line for the help
  Parameter parameter = Parameter::none;
  std::optional<double> default_parameter = {};  ///< none: the parameter is required
  std::int64_t least = 1;                        ///< the smallest number of samples it works with

  /// Whether it uses gradients, which are useless for a piecewise constant classifier.
  bool needs_gradients = false;

  /// One estimate per point. Throws Error.
  std::vector<Estimate> (*estimate)(Evaluation&, const Noise&, double parameter) = nullptr;

  /// Forward and backward passes per point, for progress and planning.
  std::int64_t (*passes)(std::int64_t classes, double parameter) = nullptr;

  /// Whether it supports groups and per_class; `estimate` refuses events that an estimator does not support.
  bool knows_events = false;

  /// Whether it counts the copies that keep the answer, for any event: groups, or a place among the largest logits.
  bool counts = false;

  /// Whether the error of its z = Phi^-1(p) is about that of normal margins, sqrt((1 + z² / 2) / forwards), so that sweeps can be
  /// smoothed.
  bool smooths = false;

  /// Whether it uses only the margins of pairs of copies, without gradients: sweeps then smooth each point's margins.
  bool pairs_alone = false;

  /// Whether its answer at a point depends on the other points of the block (pooling.h).
  bool pools = false;
};

/// Every estimator. To add one, write its file in this directory and add its line to all_estimators.cpp.
std::span<const EstimatorDefinition> all_estimators();

/// The form of its name: "taylor", "mmse:N", "mmse:N:centered".
std::string form(const EstimatorDefinition& definition);

/// An estimator with its parameter.
struct EstimatorSpec {
  const EstimatorDefinition* definition;
  double parameter = 0;

  /// Canonical text: "taylor", "mmse:10", "softmax:2".
  std::string text() const;
};

/// Parses "mmse:10". Throws Error{usage} with a hint at what is valid.
EstimatorSpec parse_estimator(const std::string& text);

/// Throws Error{unsupported} if the estimator needs gradients and the executor has none; the error names estimators that work.
void require_answerable(const Executor& executor, const EstimatorSpec& estimator);

/// Applies an estimator to a block of points: one estimate per point. Statuses of estimators that use gradients:
/// "degenerate: ..." with p = NaN if the classifier is piecewise constant (it names mc:N, which works); "undefined: ..." with
/// p = NaN if the noise has no Gaussian approximation; "approximate: ..." if such an approximation was used. Points with NaN or
/// infinity get NaN and the status "nonfinite"; other points are unaffected.
Result<std::vector<Estimate>> estimate(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& estimator);

/// Whether an Error of `estimate` is about what this estimator needs from the model or the machine, so that other estimators may
/// still work. False for usage errors and stop requests.
bool concerns_one_estimator(const Error& error);

/// The estimates of `points` points after `error`: p = NaN, with its code and message as the status.
std::vector<Estimate> refused_estimates(const Error& error, std::int64_t points);

}  // namespace probust
