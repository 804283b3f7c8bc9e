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

/// What has to survive, beside the target itself.
struct Event {
  /// [C] the group of each class: any class of the target's group will do. Empty: every class is a group of its own.
  std::vector<std::int64_t> group;
  bool per_class = false;  ///< also ask how probable each class is to take over, or to be among the `top`
  std::int64_t top = 1;    ///< the target need only be among so many largest logits; of ties the lower indices count

  bool plain() const { return group.empty() && !per_class && top == 1; }
  bool same_group(std::int64_t a, std::int64_t b) const { return a == b || (!group.empty() && group[a] == group[b]); }
};

/// What an estimator says of one point under one noise model.
struct Estimate {
  double p = 0;                           ///< probability that the target is kept; NaN where it could not be computed
  double p_fail = 0;                      ///< 1 - p, computed directly
  std::optional<double> std_error;        ///< of p, from sampling the network; none for deterministic estimators
  std::optional<double> ci_low, ci_high;  ///< 95% interval of p, where the estimator has one
  std::int64_t forwards = 0;   ///< passes that this estimate rests on; the forward that found the prediction is not counted
  std::int64_t backwards = 0;  ///< a sweep with S seeds counts S
  /// Copies whose margins p was modelled from, and those of them that kept the target: what a run is calibrated by
  /// (analysis/calibration.h). 0 where p rests on no model, or on no copies.
  std::int64_t copies = 0, kept = 0;
  std::string status = "ok";
  std::vector<double> classes;  ///< [C] the probability that each class wins, where the event asks for it
};

/// A way to linearise a classifier around points.
struct Linearizing {
  std::string key;           ///< tells what differs apart
  std::int64_t samples = 0;  ///< noisy copies of each point that it averages over
  std::function<std::vector<Linearization>(Executor&, const Points&)> ask;
};

/// At the points themselves, for one noise shape (any scale).
Linearizing at_points(const Noise& noise);

/// Of the classifier's mean under the noise, by moment propagation.
Linearizing under_noise(const Noise& noise);

/// Averaged over `samples` noisy copies.
Linearizing over_copies(const Noise& noise, std::int64_t samples);

/// A block of points under evaluation: what estimators share is computed once.
class Evaluation {
 public:
  /// `logits` [N, C] are the classifier's at the points themselves.
  Evaluation(Executor& executor, Points points, Tensor logits, Event event = {})
      : executor_(executor), points_(std::move(points)), logits_(std::move(logits)), event_(std::move(event)) {}

  Executor& executor() { return executor_; }
  const Executor& executor() const { return executor_; }
  const Points& points() const { return points_; }
  const Tensor& logits() const { return logits_; }
  const Event& event() const { return event_; }

  /// Calls use(some, first) with the linearizations of the points from `first` on, a part at a time. They are kept for the next
  /// call where they do not take too much of the executor's memory. Throws Error{resources} where those of one point do.
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
  std::string_view variant = {};  ///< written behind the parameter: the "centered" of "mmse:10:centered"
  std::string_view summary = {};  ///< one line for people
  Parameter parameter = Parameter::none;
  std::optional<double> default_parameter = {};  ///< none: it must be given
  std::int64_t least = 1;                        ///< the smallest number of samples that it can work with

  /// Whether it rests on gradients, which say nothing of a classifier that is piecewise constant.
  bool needs_gradients = false;

  /// One estimate per point. Throws Error.
  std::vector<Estimate> (*estimate)(Evaluation&, const Noise&, double parameter) = nullptr;

  /// Forward and backward passes per point, for progress and planning.
  std::int64_t (*passes)(std::int64_t classes, double parameter) = nullptr;

  /// Whether it answers for groups and for each class; `estimate` refuses events that an estimator does not answer for.
  bool knows_events = false;

  /// Whether it counts copies that keep the answer, whatever it is that they keep: groups, or a place among the largest logits.
  bool counts = false;

  /// Whether its Phi^-1(p) errs about as that of normal margins does, by sqrt((1 + z² / 2) / forwards): sweeps may be smoothed.
  bool smooths = false;

  /// Whether it rests on the margins of pairs of copies, without gradients: sweeps then smooth those of each point.
  bool pairs_alone = false;

  /// Whether its answer at a point rests on the other points of the block (pooling.h).
  bool pools = false;
};

/// Every estimator. To add one: its file beside this one, and its line in all_estimators.cpp.
std::span<const EstimatorDefinition> all_estimators();

/// How it is written: "taylor", "mmse:N", "mmse:N:centered".
std::string form(const EstimatorDefinition& definition);

/// An estimator with its parameter, as asked for.
struct EstimatorSpec {
  const EstimatorDefinition* definition;
  double parameter = 0;

  /// Canonical text: "taylor", "mmse:10", "softmax:2".
  std::string text() const;
};

/// Reads "mmse:10". Throws Error{usage} that names what would be right.
EstimatorSpec parse_estimator(const std::string& text);

/// Throws Error{unsupported}, which names those that answer, where an estimator needs gradients that the executor does not have.
void require_answerable(const Executor& executor, const EstimatorSpec& estimator);

/// Applies an estimator to a block of points: one estimate per point. Where the classifier is piecewise constant, estimators that
/// rest on gradients answer NaN with the status "degenerate: ..." and name the one that does not; likewise "undefined: ..." where
/// the noise is nothing like a Gaussian, and "approximate: ..." beside their answer where it was taken as one. Points whose
/// numbers are not finite get NaN and the status "nonfinite"; the others are unaffected.
Result<std::vector<Estimate>> estimate(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& estimator);

/// Whether an Error of `estimate` is about what this estimator needs of the model or the machine: others may do without. Not so
/// where it was asked for something wrong, or stopped.
bool concerns_one_estimator(const Error& error);

/// The estimates of `points` points where `error` is all there is: NaN, with a status that gives its code and message.
std::vector<Estimate> refused_estimates(const Error& error, std::int64_t points);

}  // namespace probust
