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

/// What must survive the noise: by default the prediction of the target.
struct Event {
  /// [C] The group of each class. Any class in the target's group counts as the target. If empty, every class is its own group.
  std::vector<std::int64_t> group;
  bool per_class = false;  ///< whether to also compute the probability that each class is predicted, or is among the `top`
  std::int64_t top = 1;    ///< the target survives if it is among this many largest logits; lower indices win ties

  bool plain() const { return group.empty() && !per_class && top == 1; }
  bool same_group(std::int64_t a, std::int64_t b) const { return a == b || (!group.empty() && group[a] == group[b]); }
};

struct EstimatorDefinition;

/// An estimator with its parameter.
struct EstimatorSpec {
  const EstimatorDefinition* definition;
  std::int64_t samples = 0;  ///< the parameter, if it is a number of samples
  double value = 0;          ///< the parameter, if it is any other number

  /// Canonical text: "taylor", "mmse:10", "softmax:2".
  std::string text() const;

  /// Forward and backward passes per point, for progress and planning.
  std::int64_t passes(std::int64_t classes) const;

  /// Whether this is `auto`, which picks another estimator.
  bool is_auto() const;
};

/// The result of an estimator for one point and one noise model.
struct Estimate {
  double p = 0;                           ///< probability that the target survives; NaN if it could not be computed
  double p_fail = 0;                      ///< 1 - p, computed directly; an upper bound if bounded()
  std::optional<double> std_error;        ///< standard error of p due to sampling; none for deterministic estimators
  std::optional<double> ci_low, ci_high;  ///< 95% interval of p; none if the estimator has no interval
  /// The probability that a noisy sample gets the point's label (Points::label), and its 95% interval if the estimator has one.
  /// None if there is no label or it could not be computed.
  std::optional<double> p_label, p_label_low, p_label_high;
  std::int64_t forwards = 0;   ///< forward passes of this estimate, without the one for the prediction
  std::int64_t backwards = 0;  ///< backward passes; one backward sweep with S seeds counts as S
  /// The number of noisy samples to whose margins a model was fitted, and the number of them that keep the target, for
  /// calibration (analysis/calibration.h). 0 if p uses no model or no samples.
  std::int64_t model_samples = 0, survivors = 0;
  Status status = Status::ok;
  std::optional<EstimatorSpec> method;  ///< the estimator that was used, if it differs from the requested one
  std::string note;                     ///< a sentence for the user; may be empty
  std::vector<double> classes;          ///< [C] the probability of each class, if the event asks for it

  /// Whether p_fail is an upper bound, not 1 - p (bound_failure).
  bool bounded() const { return p + p_fail > 1 + 1e-8; }
  /// The probability of failure that corresponds to p: p_fail, or 1 - p if p_fail is a bound.
  double failure() const { return bounded() ? 1 - p : p_fail; }

  /// Sets p_label and its interval to p and the interval of `own`, an estimate for the label.
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

/// Whether an estimator can see failures only among its noisy samples: mc, probit, regression and surrogate. The argument is the
/// text of an EstimatorSpec.
bool sees_failures_in_samples(std::string_view estimator);

/// If p_fail is smaller than the samples can show, replaces it by the upper end of its interval, 1 - ci_low. This applies if the
/// interval includes p = 1, so that failures may be impossible, and p_fail is less than a tenth of that upper end. p does not
/// change. The status `ok` becomes `bound`; others do not change.
void bound_failure(Estimate& estimate);

}  // namespace probust
