// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probust/estimators/status.h"

namespace probust {

/// What has to survive, if not only the target itself.
struct Event {
  /// [C] The group of each class: any class of the target's group counts as the target. Empty: every class is its own group.
  std::vector<std::int64_t> group;
  bool per_class = false;  ///< also compute each class's probability of being predicted, or of being among the `top`
  std::int64_t top = 1;    ///< the target need only be among this many largest logits; lower indices win ties

  bool plain() const { return group.empty() && !per_class && top == 1; }
  bool same_group(std::int64_t a, std::int64_t b) const { return a == b || (!group.empty() && group[a] == group[b]); }
};

struct EstimatorDefinition;

/// An estimator with its parameter.
struct EstimatorSpec {
  const EstimatorDefinition* definition;
  std::int64_t samples = 0;  ///< if its parameter is a number of samples
  double value = 0;          ///< any other parameter

  /// Canonical text: "taylor", "mmse:10", "softmax:2".
  std::string text() const;

  /// Forward and backward passes per point, for progress and planning.
  std::int64_t passes(std::int64_t classes) const;

  /// Whether it chooses another estimator.
  bool is_auto() const;
};

/// The result of an estimator for one point and one noise model.
struct Estimate {
  double p = 0;                           ///< probability that the target survives; NaN if it could not be computed
  double p_fail = 0;                      ///< 1 - p, computed directly; an upper bound if bounded()
  std::optional<double> std_error;        ///< of p, from sampling the network; none for deterministic estimators
  std::optional<double> ci_low, ci_high;  ///< 95% interval of p, if the estimator has one
  /// Probability that the point gets its label (Points::label), with its 95% interval, if the estimator has one. None without a
  /// label, or if it could not be computed.
  std::optional<double> p_label, p_label_low, p_label_high;
  std::int64_t forwards = 0;   ///< passes of this estimate, without the one for the prediction
  std::int64_t backwards = 0;  ///< a sweep with S seeds counts S
  /// Noisy samples from whose margins p was modelled, and how many of them keep the target. For calibration
  /// (analysis/calibration.h). 0 if p uses no model or no samples.
  std::int64_t model_samples = 0, survivors = 0;
  Status status = Status::ok;
  std::optional<EstimatorSpec> method;  ///< the estimator that was used, if another than the requested one
  std::string note;                     ///< a sentence for people; may be empty
  std::vector<double> classes;          ///< [C] the probability of each class, if the event asks for it

  /// Whether p_fail is an upper bound, not 1 - p (bound_failure).
  bool bounded() const { return p + p_fail > 1 + 1e-8; }
  /// The probability of failure that corresponds to p: p_fail, or 1 - p if p_fail is a bound.
  double failure() const { return bounded() ? 1 - p : p_fail; }

  /// Takes p_label and its interval from `own`, an estimate for the label.
  void set_label(const Estimate& own) {
    if (!std::isfinite(own.p)) return;
    p_label = own.p;
    p_label_low = own.ci_low;
    p_label_high = own.ci_high;
  }

  void set(Status new_status, std::string new_note) {
    status = new_status;
    note = std::move(new_note);
  }
  void add_note(const std::string& more) { note += (note.empty() ? "" : "; ") + more; }
};

/// Whether an estimator, given as the text of its spec, sees failures only among noisy samples: mc, probit and regression.
bool sees_failures_in_samples(std::string_view estimator);

/// Makes p_fail the upper end of its interval, 1 - ci_low, if it claims more than the samples can show: the interval reaches p =
/// 1, so that failures may be impossible, and p_fail is less than a tenth of that upper end. p stays. The status `ok` becomes
/// `bound`; others stay.
void bound_failure(Estimate& estimate);

}  // namespace probust
